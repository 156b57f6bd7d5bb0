import type { Instance, RequestSpec, ServerGroup } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { findServerGroup, groupNotFound } from "../server-groups/find-server-group.js";
import type { CreateBody } from "./create-schema.js";

type Server = CreateBody["server"];

/** Refuses what a valid request may ask for and this cluster does not have. @throws {Fault} 400 */
export function refuseUnsupported(body: CreateBody, count: number): void {
  const { server } = body;
  refuseBlockDevices(server);
  refuseCertificates(server.trusted_image_certificates);
  if (server.hostname !== undefined && count > 1) {
    throw badRequest("Unable to allocate a single hostname to multiple instances");
  }
}

/** The server group that the servers are to be in; null: none. @throws {Fault} 400 */
export function chosenGroup(deps: Pick<ComputeDeps, "store">, call: Call, body: CreateBody): ServerGroup | null {
  const uuid = hintsOf(body).group;
  if (uuid === undefined) {
    return null;
  }
  const group = findServerGroup(deps, call, String(uuid));
  if (!group) {
    throw badRequest(groupNotFound(String(uuid)));
  }
  return group;
}

/** The hints that filters look at. Servers that they name may be anybody's, or be gone. */
export function keptHints(body: CreateBody): RequestSpec["schedulerHints"] {
  const hints = hintsOf(body);
  return Object.fromEntries(
    KEPT_HINTS.filter((name) => hints[name] !== undefined).map((name) => [name, [hints[name]].flat().map(String)]),
  );
}

const KEPT_HINTS = ["same_host", "different_host"];

function hintsOf(body: CreateBody): Readonly<Record<string, unknown>> {
  return body["os:scheduler_hints"] ?? body["OS-SCH-HNT:scheduler_hints"] ?? {};
}

/** What a server has of its user's key pair; null: none. @throws {Fault} 400 */
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

/** Nobody verifies signatures of images here. @throws {Fault} 400 */
export function refuseCertificates(certificates: readonly string[] | null | undefined): void {
  if (certificates && certificates.length > 0) {
    throw badRequest("Signed image verification is not available: leave trusted_image_certificates out.");
  }
}

/** The root disk may be named, which its image makes it anyway. */
function refuseBlockDevices({ imageRef, block_device_mapping: old = [], block_device_mapping_v2: all = [] }: Server) {
  const others = all.filter(
    ({ source_type: source, destination_type: destination = "local", boot_index: index, uuid }) => {
      return !(source === "image" && destination === "local" && Number(index ?? -1) === 0 && uuid === imageRef);
    },
  );
  if (others.some(({ source_type: source, destination_type: to }) => source === "image" && to === "local")) {
    throw badRequest("Block Device Mapping is Invalid: Mapping image to local is not supported.");
  }
  if (old.length + others.length > 0 || all.length > 1) {
    throw badRequest(
      "Block Device Mapping is Invalid: this cloud has no Block Storage service. Leave block devices out and boot from an image.",
    );
  }
}

/** The guest's host name that Nova makes of a display name. */
export function hostnameFor(displayName: string, uuid: string): string {
  const name = displayName
    .replaceAll(/[ _.]/g, "-")
    .replaceAll(/[^A-Za-z0-9-]/g, "")
    .toLowerCase()
    .slice(0, 63)
    .replaceAll(/^-+|-+$/g, "");
  return name === "" ? `server-${uuid}` : name;
}
