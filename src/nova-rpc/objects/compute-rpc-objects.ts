import type { AgentMethods, LiveMigrateData } from "../../conductor-client/methods/agent.js";
import type { ResultOf } from "../../conductor-client/methods/method.js";
import { isObject } from "../../runtime/collections.js";
import { type NovaObject, novaObject, objectOf, overlaid } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";
import { builtObject } from "./record-object.js";

/** The one kind of the object that every release's conductor can read. */
const NAME = "LibvirtLiveMigrateData";

/** What our data stands under, in the field in which a real hypervisor has the name of a file. */
const OURS = "compute_agent";

/** Beside it: an agent on the source has looked at it, too. A nova-compute hands on what it does not know. */
const SOURCE_CHECKED = "seen_by_source";

/** What nova's fake drivers have in that field. They take no guest over: each makes its own when one arrives. */
const NOVAS_FAKE = "fake";

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

/** @param received what the other host has sent, to be kept where we say nothing */
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

/** By which a nova-compute on the source knows whether there is something to be removed here when it fails. */
function storageOf({ sharedInstanceFiles }: LiveMigrateData) {
  return typeof sharedInstanceFiles === "boolean"
    ? { is_shared_instance_path: sharedInstanceFiles, is_shared_block_storage: sharedInstanceFiles }
    : {};
}

/** What our driver on the other host has said; of a foreign one only what nova's own fakes need. */
export function readLiveMigrateData(value: unknown): LiveMigrateData {
  const filename = filenameIn(value);
  const ours = wordsIn(filename)[OURS];
  return isObject(ours) ? ours : filename === NOVAS_FAKE ? { guestMadeAnew: true } : {};
}

/** The same as the source has answered it: one that has not read it will hand no guest over. */
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

/** The one version of these objects, in every release. */
const VERSION = "1.0";

type Details = Readonly<Record<string, unknown>>;

/** What a guest uses, as the API's Diagnostics object. */
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
