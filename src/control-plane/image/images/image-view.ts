import { isoSeconds } from "../../http/times.js";
import type { Image } from "../images.js";
import { storesOf } from "../stores.js";

export function imageView(image: Image): Readonly<Record<string, unknown>> {
  const stores = storesOf(image);
  return {
    ...image.properties,
    ...image.internal,
    name: image.name,
    disk_format: image.diskFormat,
    container_format: image.containerFormat,
    visibility: image.visibility,
    size: image.size,
    virtual_size: image.virtualSize,
    status: image.status,
    checksum: image.checksum,
    protected: image.protected,
    min_ram: image.minRam,
    min_disk: image.minDisk,
    owner: image.owner,
    os_hidden: image.hidden,
    os_hash_algo: image.hash === null ? null : "sha512",
    os_hash_value: image.hash,
    id: image.id,
    created_at: isoSeconds(image.createdAt),
    updated_at: isoSeconds(image.updatedAt),
    tags: image.tags,
    self: `/v2/images/${image.id}`,
    file: `/v2/images/${image.id}/file`,
    schema: "/v2/schemas/image",
    ...(stores.length === 0 ? {} : { stores: stores.join(",") }),
  };
}
