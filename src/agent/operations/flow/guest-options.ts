import type { Instance } from "../../../records/index.js";
import type { DestroyOptions, ImageMeta } from "../../../virt/types.js";
import { LOCAL_DISKS } from "../../block-devices.js";

const IMAGE_PREFIX = "image_";

/** The image as the API noted it in the instance's system metadata; there is no image service to ask. */
export function imageMeta(instance: Instance, imageRef = instance.imageRef): ImageMeta {
  const noted = Object.entries(instance.systemMetadata).filter(([key]) => key.startsWith(IMAGE_PREFIX));
  const properties = Object.fromEntries(noted.map(([key, value]) => [key.slice(IMAGE_PREFIX.length), value]));
  const { disk_format, container_format, min_disk, min_ram, name } = properties;
  return {
    id: imageRef,
    name: name ?? imageRef,
    diskFormat: disk_format ?? "raw",
    containerFormat: container_format ?? "bare",
    minDisk: Number.parseInt(min_disk ?? "0", 10) || 0,
    minRam: Number.parseInt(min_ram ?? "0", 10) || 0,
    properties,
  };
}

export function destroyOptions(destroyDisks: boolean): DestroyOptions {
  return {
    network: [],
    blockDevices: LOCAL_DISKS,
    destroyDisks,
  };
}
