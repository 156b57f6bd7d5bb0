import type { LiveMigrateData } from "../../conductor/methods/agent.js";
import { isRecord, type NovaObject, objectOf, overlaid } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";
import { builtObject } from "./record-object.js";

/** The one kind of the object that every release's conductor can read. */
const NAME = "LibvirtLiveMigrateData";
/** What our data stands under, in the field in which a real hypervisor has the name of a file. */
const OURS = "compute_agent";

/** What a real conductor and API read of it. */
const DEFAULTS = {
  image_type: "raw",
  disk_available_mb: 0,
  is_shared_instance_path: true,
  is_shared_block_storage: true,
  is_volume_backed: false,
  graphics_listen_addr_vnc: "127.0.0.1",
  graphics_listen_addr_spice: "127.0.0.1",
  serial_listen_addr: null,
  vifs: [],
};

/** @param carried what the other host has sent, to be kept where we say nothing */
export function writeLiveMigrateData(data: LiveMigrateData, carried: unknown, profile: ReleaseProfile): NovaObject {
  const filename = JSON.stringify({ [OURS]: data });
  return isRecord(carried)
    ? overlaid(objectOf(carried), { filename })
    : builtObject(NAME, { filename, ...DEFAULTS }, profile);
}

/** What our driver on the other host has said; nothing of a foreign one. */
export function readLiveMigrateData(value: unknown): LiveMigrateData {
  if (!isRecord(value)) {
    return {};
  }
  const { filename } = objectOf(value)["nova_object.data"];
  const parsed = typeof filename === "string" ? jsonOf(filename) : null;
  const ours = isRecord(parsed) ? parsed[OURS] : undefined;
  return isRecord(ours) ? ours : {};
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
