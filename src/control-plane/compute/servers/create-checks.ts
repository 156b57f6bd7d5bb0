import type { Flavor, Instance, RequestSpec, ServerGroup } from "../../../records/index.js";
import { badRequest, type HttpError } from "../../http/http-error.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { findServerGroup, groupNotFound } from "../server-groups.js";
import type { CreateBody } from "./server-schemas.js";

type Server = CreateBody["server"];

/** Rejects features of a valid request that this cluster does not have. @throws {HttpError} 400 */
export function assertSupported(body: CreateBody, count: number): void {
  const { server } = body;
  checkDeviceFormats(server);
  assertNoCertificates(server.trusted_image_certificates);
  if (server.hostname !== undefined && count > 1) {
    throw badRequest("Unable to allocate a single hostname to multiple instances");
  }
}

/** Returns the servers' group; null if none is requested. @throws {HttpError} 400 */
export function chosenGroup(call: Call, body: CreateBody): ServerGroup | null {
  const uuid = hintsOf(body).group;
  if (uuid === undefined) {
    return null;
  }
  const group = findServerGroup(call, String(uuid));
  if (!group) {
    throw badRequest(groupNotFound(String(uuid)));
  }
  return group;
}

/** Selects the hints that filters use. The servers in them need not exist or belong to the project. */
export function selectSchedulerHints(body: CreateBody): RequestSpec["schedulerHints"] {
  const hints = hintsOf(body);
  return Object.fromEntries(
    SUPPORTED_HINTS.filter((name) => hints[name] !== undefined).map((name) => [name, [hints[name]].flat().map(String)]),
  );
}

const SUPPORTED_HINTS = ["same_host", "different_host"];

function hintsOf(body: CreateBody): Readonly<Record<string, unknown>> {
  return body["os:scheduler_hints"] ?? body["OS-SCH-HNT:scheduler_hints"] ?? {};
}

/** Returns the key pair's attributes that a server stores; they are null without one. @throws {HttpError} 400 */
export function chosenKey(
  { store }: Pick<ComputeDeps, "store">,
  userId: string,
  name: string | null,
): Pick<Instance, "keyName" | "keyData"> {
  if (name === null) {
    return { keyName: null, keyData: null };
  }
  const pair = store.keyPairs.get(userId, name);
  if (!pair) {
    throw badRequest("Invalid key_name provided.");
  }
  return { keyName: name, keyData: pair.publicKey };
}

/** Rejects certificates: image signatures are not verified here. @throws {HttpError} 400 */
export function assertNoCertificates(certificates: readonly string[] | null | undefined): void {
  if (certificates && certificates.length > 0) {
    throw badRequest("Signed image verification is not available: leave trusted_image_certificates out.");
  }
}

type BlockDevice = NonNullable<Server["block_device_mapping_v2"]>[number];

/** Max local disks of a server (root, ephemeral disks, swap): Nova's default of `max_local_block_devices`. */
const MAX_LOCAL_DEVICES = 3;

const invalidDevice = (details: string) => badRequest(`Block Device Mapping is Invalid: ${details}`);

const destinationOf = ({ destination_type: to = "local" }: BlockDevice) => to;
const bootIndexOf = ({ boot_index: index }: BlockDevice) => Number(index ?? -1);
const isBlank = (device: BlockDevice) => device.source_type === "blank" && destinationOf(device) === "local";
const isSwap = (device: BlockDevice) => isBlank(device) && device.guest_format === "swap";

/** Checks each device on its own, as Nova's API does. Volumes are rejected. @throws {HttpError} 400 */
function checkDeviceFormats({ imageRef, block_device_mapping: old = [], block_device_mapping_v2: all = [] }: Server) {
  if (old.length > 0 && all.length > 0) {
    throw badRequest("Using different block_device_mapping syntaxes is not allowed in the same request.");
  }
  for (const device of all) {
    const { source_type: source, uuid } = device;
    if (source === "blank" && uuid) {
      throw invalidDevice("Invalid device UUID.");
    }
    const isRoot = source === "image" && destinationOf(device) === "local";
    if (isRoot && !(bootIndexOf(device) === 0 && uuid === imageRef)) {
      throw invalidDevice("Mapping image to local is not supported.");
    }
    if (destinationOf(device) === "local" && device.volume_type) {
      throw invalidDevice("Specifying a volume_type with destination_type=local is not supported.");
    }
    if (!isRoot && !isBlank(device)) {
      throw withoutVolumes();
    }
  }
  if (old.length > 0) {
    throw withoutVolumes();
  }
}

function withoutVolumes(): HttpError {
  return invalidDevice("this cloud has no Block Storage service. Leave volumes out and boot from an image.");
}

/**
 * Checks the requested local devices against the flavor, as Nova does. The guest has the flavor's ephemeral disk and
 * swap.
 * @throws {HttpError} 400
 */
export function checkLocalDevices({ block_device_mapping_v2: all = [] }: Server, flavor: Flavor): void {
  if (all.length === 0) {
    return;
  }
  const boot = all
    .map(bootIndexOf)
    .filter((index) => index >= 0)
    .toSorted((one, other) => one - other);
  if (boot.length === 0 || boot.some((index, position) => index !== position)) {
    throw invalidDevice("Boot sequence for the instance and image/block device mapping combination is not valid.");
  }
  const swaps = all.filter(isSwap);
  const ephemerals = all.filter((device) => isBlank(device) && !isSwap(device));
  const sizeOf = ({ volume_size: size }: BlockDevice) => Number(size ?? 0);
  if (ephemerals.reduce((sum, device) => sum + (sizeOf(device) || flavor.ephemeralGb), 0) > flavor.ephemeralGb) {
    throw badRequest(
      "Ephemeral disks requested are larger than the instance type allows. If no size is given in one block device mapping, flavor ephemeral size will be used.",
    );
  }
  const [swap, second] = swaps;
  if (second !== undefined) {
    throw invalidDevice("More than one swap drive requested.");
  }
  if (swap !== undefined && sizeOf(swap) > flavor.swap) {
    throw badRequest("Swap drive requested is larger than instance type allows.");
  }
  const ofFlavor = Number(ephemerals.length === 0 && flavor.ephemeralGb > 0) + Number(!swap && flavor.swap > 0);
  if (all.length + ofFlavor > MAX_LOCAL_DEVICES) {
    throw invalidDevice("You specified more local devices than the limit allows");
  }
}

/** Derives the guest's host name from the display name, as Nova does. */
export function hostnameFor(displayName: string, uuid: string): string {
  const name = displayName
    .replaceAll(/[ _.]/g, "-")
    .replaceAll(/[^A-Za-z0-9-]/g, "")
    .toLowerCase()
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? `server-${uuid}` : name;
}
