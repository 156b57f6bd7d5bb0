import type { AgentMethods, LiveMigrateData } from "../../conductor-client/methods/agent.js";
import type { ResultOf } from "../../conductor-client/methods/method.js";
import { isObject } from "../../runtime/collections.js";
import { type NovaObject, novaObject, objectOf, overlaid } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";
import { builtObject } from "./record-object.js";

/** The only subclass that the conductors of all releases can read. */
const NAME = "LibvirtLiveMigrateData";

/** The key of our data, within the field in which real hypervisors have a file name. */
const OURS = "compute_agent";

/** A key next to it: an agent on the source has processed the data. A nova-compute forwards unknown data unchanged. */
const SOURCE_CHECKED = "seen_by_source";

/** The value of that field with nova's fake drivers. These do not take over guests: each creates its own on arrival. */
const NOVAS_FAKE = "fake";

/** Fields that a real conductor and API read. */
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

/** @param received the object from the other host, whose values are preserved where we set none */
export function writeLiveMigrateData(
  data: LiveMigrateData,
  received: unknown,
  profile: ReleaseProfile,
  { bySource = false }: { readonly bySource?: boolean } = {},
): NovaObject {
  const filename = JSON.stringify({ [OURS]: data, ...(bySource ? { [SOURCE_CHECKED]: true } : {}) });
  return isObject(received)
    ? overlaid(objectOf(received), { filename })
    : builtObject(NAME, { filename, ...DEFAULTS, ...storageOf(data) }, profile);
}

/** Returns the fields by which a nova-compute on the source decides whether to clean up here after a failure. */
function storageOf({ sharedInstanceFiles }: LiveMigrateData) {
  return typeof sharedInstanceFiles === "boolean"
    ? { is_shared_instance_path: sharedInstanceFiles, is_shared_block_storage: sharedInstanceFiles }
    : {};
}

/** Reads the data of our driver on the other host; for another driver, only the fields that nova's fakes need. */
export function readLiveMigrateData(value: unknown): LiveMigrateData {
  const filename = filenameIn(value);
  const ours = wordsIn(filename)[OURS];
  return isObject(ours) ? ours : filename === NOVAS_FAKE ? { guestMadeAnew: true } : {};
}

/** Reads the data from the source's response. A source that has not processed the data does not hand over the guest. */
export function readSourceCheck(value: unknown): LiveMigrateData {
  const data = readLiveMigrateData(value);
  return wordsIn(filenameIn(value))[SOURCE_CHECKED] === true ? data : { ...data, guestMadeAnew: true };
}

function filenameIn(value: unknown): unknown {
  return isObject(value) ? objectOf(value)["nova_object.data"].filename : null;
}

function wordsIn(filename: unknown): Readonly<Record<string, unknown>> {
  const parsed = typeof filename === "string" ? jsonOf(filename) : null;
  return isObject(parsed) ? parsed : {};
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The only version of these objects, in all releases. */
const VERSION = "1.0";

type Details = Readonly<Record<string, unknown>>;

/** Converts a guest's resource usage to the API's Diagnostics object. */
export function writeDiagnostics(found: ResultOf<AgentMethods, "get_instance_diagnostics">): NovaObject {
  const { memoryDetails, cpuDetails, nicDetails, diskDetails, ...own } = found;
  return object("Diagnostics", {
    ...own,
    memoryDetails: object("MemoryDiagnostics", memoryDetails),
    cpuDetails: cpuDetails.map((cpu) => object("CpuDiagnostics", cpu)),
    nicDetails: nicDetails.map((nic) => object("NicDiagnostics", nic)),
    diskDetails: diskDetails.map((disk) => object("DiskDiagnostics", disk)),
    numCpus: cpuDetails.length,
    numNics: nicDetails.length,
    numDisks: diskDetails.length,
  });
}

function object(name: string, details: Details): NovaObject {
  const fields = Object.entries(details).map(([field, value]) => [
    field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    value,
  ]);
  return novaObject(name, VERSION, Object.fromEntries(fields));
}
