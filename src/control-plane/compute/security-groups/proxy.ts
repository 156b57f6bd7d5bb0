import { isObject } from "../../../runtime/is-object.js";
import { NetworkFault } from "../../network/api/fault.js";
import type { SecurityGroup } from "../../store/security-groups.js";
import type { Store } from "../../store/store.js";
import type { Call } from "../api/call.js";
import { badRequest, Fault, notFound } from "../api/fault.js";
import { isUuidLike } from "../api/formats.js";

/** The last minor with the proxies of the Network API. */
export const LAST_PROXY = 35;

export const policy = (what: string): string => `os_compute_api:os-security-groups:${what}`;

/** The group of the path, or of a body, if the caller may know of it. @throws {Fault} 400, 404 */
export function findOwn(store: Store, call: Call, id: unknown = call.param("id")): SecurityGroup {
  if (typeof id !== "string" || !isUuidLike(id)) {
    throw badRequest("Security group id should be uuid");
  }
  const group = store.securityGroups.get(id.toLowerCase());
  if (!group || !(call.isAdmin || group.projectId === call.credentials.projectId)) {
    throw notFound(`Security group ${id} does not exist`);
  }
  return group;
}

/** What the Network API says, in the proxy's statuses. */
export function proxied<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof NetworkFault) {
      throw new Fault(error.status === 409 ? 403 : error.status, error.message);
    }
    const fault = error instanceof Error && error.name === "SecurityGroupDefaultAlreadyExists";
    throw fault ? new Fault(403, error.message) : error;
  }
}

/** @throws {Fault} 400 */
export function memberOf(call: Call, key: string): Readonly<Record<string, unknown>> {
  const body = call.json();
  const value = isObject(body) ? (body[key] ?? undefined) : undefined;
  if (!isObject(value)) {
    throw badRequest(value === undefined ? `Missing parameter ${key}` : `Invalid input for ${key}: expected an object`);
  }
  return value;
}
