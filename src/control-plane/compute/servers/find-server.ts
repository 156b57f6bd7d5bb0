import type { Instance } from "../../../records/index.js";
import { conflict, type HttpError, notFound } from "../../http/http-error.js";
import type { Call } from "../api/call.js";
import { isUuidLike } from "../api/schema-parts.js";

export interface FoundServer {
  readonly instance: Instance;
  /** Whether the server is only a build request: it has no row in `instances`, and no agent knows it. */
  readonly building: boolean;
}

const serverNotFound = (id: string): HttpError => notFound(`Instance ${id} could not be found.`);

/** Returns the server that the path names, if the caller may see it. @throws {HttpError} 404 */
export function findServer(call: Call, options: { readonly readDeleted?: boolean } = {}): FoundServer {
  const id = call.param("id");
  if (!isUuidLike(id)) {
    throw serverNotFound(id);
  }
  const uuid = canonicalUuid(id);
  const request = call.store.requests.buildRequest(uuid);
  const instance = request?.instance ?? call.store.instances.get(uuid, options);
  if (!instance || instance.hidden || !(call.isAdmin || instance.projectId === call.credentials.projectId)) {
    throw serverNotFound(id);
  }
  return { instance, building: request !== null };
}

/** Returns a server as {@link findServer} does, but rejects one that is not scheduled yet. @throws {HttpError} 404, 409 */
export function findInstance(call: Call): Instance {
  const { instance, building } = findServer(call);
  if (building) {
    throw conflict(`Instance ${instance.uuid} is not ready`);
  }
  return instance;
}

/** Rejects a locked server, unless the caller is an administrator. @throws {HttpError} 409 */
export function assertNotLocked(call: Call, instance: Instance): void {
  if (instance.locked && !call.isAdmin) {
    throw conflict(`Instance ${instance.uuid} is locked`);
  }
}

const CANONICAL = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;

function canonicalUuid(text: string): string {
  if (CANONICAL.test(text)) {
    return text;
  }
  const hex = text
    .toLowerCase()
    .replace(/^urn:uuid:/, "")
    .replaceAll(/[{}-]/g, "");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
