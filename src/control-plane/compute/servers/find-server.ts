import type { Instance } from "../../../records/index.js";
import type { Call } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { conflict, type Fault, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/schema-parts.js";

export interface FoundServer {
  readonly instance: Instance;
  /** The server is only asked for as yet: it has no row in `instances`, and no agent knows of it. */
  readonly building: boolean;
}

const serverNotFound = (id: string): Fault => notFound(`Instance ${id} could not be found.`);

/** The server of the path, if the caller may know of it. @throws {Fault} 404 */
export function findServer(
  { store }: Pick<ComputeDeps, "store">,
  call: Call,
  options: { readonly readDeleted?: boolean } = {},
): FoundServer {
  const id = call.param("id");
  if (!isUuidLike(id)) {
    throw serverNotFound(id);
  }
  const uuid = canonicalUuid(id);
  const request = store.requests.buildRequest(uuid);
  const instance = request?.instance ?? store.instances.get(uuid, options);
  if (!instance || instance.hidden || !(call.isAdmin || instance.projectId === call.credentials.projectId)) {
    throw serverNotFound(id);
  }
  return { instance, building: request !== null };
}

/** As {@link findServer}, for what needs a server that has been handed to the scheduler. @throws {Fault} 404, 409 */
export function findInstance(deps: Pick<ComputeDeps, "store">, call: Call): Instance {
  const { instance, building } = findServer(deps, call);
  if (building) {
    throw conflict(`Instance ${instance.uuid} is not ready`);
  }
  return instance;
}

/** Refuses a locked server to all but administrators. @throws {Fault} 409 */
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
