import type { Json } from "../../http/json.js";
import type { Call } from "../api/call.js";
import { boolFromText } from "../api/schema-parts.js";
import { type ImageDocument, imageRoot } from "./image-service.js";

/** What every image has; all else are its properties. */
const BASE: ReadonlySet<string> = new Set([
  ...["id", "name", "status", "visibility", "protected", "owner", "tags", "size", "virtual_size", "checksum"],
  ...["disk_format", "container_format", "min_disk", "min_ram", "created_at", "updated_at", "os_hidden"],
  ...["os_hash_algo", "os_hash_value", "self", "file", "schema", "stores"],
]);

const STATUSES: Readonly<Record<string, string>> = { active: "ACTIVE", queued: "SAVING", saving: "SAVING" };
const PROGRESS: Readonly<Record<string, number>> = { queued: 25, saving: 50, active: 100 };

/** Its properties, which Nova calls metadata. */
export function metadataOf(image: ImageDocument): Readonly<Record<string, string>> {
  const own = Object.entries(image).filter(([name]) => !BASE.has(name));
  return Object.fromEntries(own.map(([name, value]) => [name, String(value)]));
}

export function imageBrief(call: Call, { id, name }: ImageDocument) {
  const path = `images/${id}`;
  const links = [
    { rel: "self", href: call.links.self(path) },
    { rel: "bookmark", href: call.links.bookmark(path) },
    { rel: "alternate", type: "application/vnd.openstack.image", href: `${imageRoot(call)}/${path}` },
  ];
  return { id, name: typeof name === "string" ? name : null, links };
}

export function imageDetail(call: Call, image: ImageDocument): Json {
  const metadata = metadataOf(image);
  const { instance_uuid: server, auto_disk_config: disk } = metadata;
  const status = String(image.status);
  return {
    ...imageBrief(call, image),
    minRam: Number(image.min_ram),
    minDisk: Number(image.min_disk),
    metadata,
    created: String(image.created_at),
    updated: String(image.updated_at),
    status: STATUSES[status] ?? "UNKNOWN",
    progress: PROGRESS[status] ?? 0,
    "OS-EXT-IMG-SIZE:size": Number(image.size ?? 0),
    ...(server === undefined ? {} : { server: { id: server, links: call.links.pair(`servers/${server}`) } }),
    ...(disk === undefined ? {} : { "OS-DCF:diskConfig": boolFromText(disk) ? "AUTO" : "MANUAL" }),
  };
}
