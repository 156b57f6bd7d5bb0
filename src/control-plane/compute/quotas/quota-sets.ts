import type { Json } from "../../http/json.js";
import type { Limits } from "../../store/quotas.js";
import type { Call, ComputeResponse } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { badRequest } from "../api/fault.js";
import { denied, requireAdmin } from "../api/policy.js";
import { isTrue } from "../api/schema-parts.js";
import { defaultLimits, limitsOf } from "./limits-of.js";
import { listQuotaResources, only, PER_PROJECT, type Resource, UNLIMITED } from "./resources.js";
import { SET_QUERY, UPDATE_SET } from "./schemas.js";
import { createUsageReader } from "./usage.js";

const policy = (what: string): string => `os_compute_api:os-quota-sets:${what}`;

/** The limits of a project, or with `user_id` of one of its users there. */
export function showSet(deps: ComputeDeps, call: Call): ComputeResponse {
  const { project, user } = readTarget(deps, call, "show");
  return setOf(project, only(listQuotaResources(call.version), limitsOf(deps, project, user)));
}

/** With what is used of them. Nothing is reserved ahead of its use. */
export function showDetail(deps: ComputeDeps, call: Call): ComputeResponse {
  const { project, user } = readTarget(deps, call, "detail");
  const limits = limitsOf(deps, project, user);
  const inUse = createUsageReader(deps, project, user);
  const reserved = deps.quota.enforced ? 0 : UNLIMITED;
  const details = listQuotaResources(call.version).map((name) => [
    name,
    { in_use: inUse(name), limit: limits[name] ?? UNLIMITED, reserved },
  ]);
  return setOf(project, Object.fromEntries(details));
}

/** What a project has for which nobody has set anything. Whoever has a token may know. */
export function showDefaults(deps: ComputeDeps, call: Call): ComputeResponse {
  const project = call.param("project");
  requireProject(deps, project);
  return setOf(project, only(listQuotaResources(call.version), defaultLimits(deps)));
}

/** All of the limits in the body, or none. Without `force`, none below what is used or has been given to users. */
export function updateSet(deps: ComputeDeps, call: Call): ComputeResponse {
  const { force, ...limits } = call.body(UPDATE_SET).quota_set;
  call.checkQuery(SET_QUERY);
  requireAdmin(call, policy("update"));
  const project = call.param("project");
  requireProject(deps, project);
  if ("networks" in limits) {
    throw badRequest("The networks quota has been removed");
  }
  const user = userOf(call);
  const { store } = deps;
  const quotaSet = store.transaction(() => {
    for (const [name, text] of Object.entries(limits)) {
      const limit = Number(text);
      if (!isTrue(force)) {
        assertLimitInRange(deps, project, user, name as Resource, limit);
      }
      if (deps.quota.enforced) {
        store.quotas.setLimit(project, PER_PROJECT.includes(name) ? null : user, name, limit);
      }
    }
    return only(listQuotaResources(call.version), limitsOf(deps, project, user));
  });
  return { body: { quota_set: quotaSet } };
}

export function deleteSet({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(SET_QUERY);
  requireAdmin(call, policy("delete"));
  store.quotas.destroy(call.param("project"), userOf(call));
  return { status: 202 };
}

const userOf = ({ query }: Call): string | null => query.all("user_id")[0] || null;

function readTarget(
  deps: ComputeDeps,
  call: Call,
  rule: string,
): { readonly project: string; readonly user: string | null } {
  call.checkQuery(SET_QUERY);
  const project = call.param("project");
  const { projectId, roles } = call.credentials;
  const reads = project === projectId && (roles.includes("reader") || roles.includes("member"));
  if (!(call.isAdmin || reads)) {
    throw denied(policy(rule));
  }
  requireProject(deps, project);
  return { project, user: userOf(call) };
}

/** @throws {Fault} 400 */
function requireProject({ projectExists }: ComputeDeps, project: string): void {
  if (!projectExists(project)) {
    throw badRequest(`Project ID ${project} is not a valid project.`);
  }
}

function setOf(project: string, values: Readonly<Record<string, Json>>): ComputeResponse {
  return { body: { quota_set: { id: project, ...values } } };
}

const infinite = (limit: number): number => (limit < 0 ? Number.POSITIVE_INFINITY : limit);

/** @throws {Fault} 400 */
function assertLimitInRange(
  deps: ComputeDeps,
  project: string,
  user: string | null,
  name: Resource,
  limit: number,
): void {
  const { quotas } = deps.store;
  const used = deps.quota.enforced ? createUsageReader(deps, project, user)(name) : 0;
  const userLimits: Limits = quotas.assignedToUsers(project);
  const ofProject = limitsOf(deps, project, null)[name] ?? UNLIMITED;
  const toUsers = userLimits[name] ?? 0;
  const least = user === null ? Math.max(ofProject < 0 ? UNLIMITED : toUsers, used) : used;
  if (infinite(limit) < least) {
    throw badRequest(
      `Quota limit ${limit} for ${name} must be greater than or equal to already used and reserved ${least}.`,
    );
  }
  const most = infinite(ofProject) - toUsers + (user === null ? 0 : (quotas.limits(project, user)[name] ?? 0));
  if (user !== null && infinite(limit) > most) {
    throw badRequest(`Quota limit ${limit} for ${name} must be less than or equal to ${most}.`);
  }
}
