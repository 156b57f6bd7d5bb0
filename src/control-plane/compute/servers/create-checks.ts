import type { Instance, RequestSpec, ServerGroup } from "../../../records/index.js";
import { badRequest } from "../../http/http-error.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { findServerGroup, groupNotFound } from "../server-groups.js";
import type { CreateBody } from "./server-schemas.js";

/** Rejects features of a valid request that this cluster does not have. @throws {HttpError} 400 */
export function assertSupported(body: CreateBody, count: number): void {
  const { server } = body;
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
