import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { type Schema, schemas } from "../../http/schemas.js";
import type { Limits } from "../../store/quotas.js";
import { type Call, type ComputeResponse, type ComputeRoute, denied, requireAdmin } from "../api/call.js";
import type { ComputeDeps } from "../api/deps.js";
import { BOOLEAN, isTrue, MULTI } from "../api/schema-parts.js";
import { classLimits, createUsageReader, defaultLimits, limitsOf } from "./limits-and-usage.js";
import { listClassResources, listQuotaResources, only, PER_PROJECT, type Resource, UNLIMITED } from "./resources.js";

type RequestedLimits = Readonly<Record<string, number | string>>;

const LIMIT = { type: ["integer", "string"], pattern: "^-?[0-9]+$", minimum: -1, maximum: 0x7fffffff };

const UPDATE_SET = schemas<{ readonly quota_set: RequestedLimits & { readonly force?: boolean | string } }>(
  [1, quotaSetSchema(1, { networks: LIMIT })],
  [36, quotaSetSchema(36)],
  [57, quotaSetSchema(57)],
);

// Before 2.50, quota classes accept server groups in a request but omit them in responses.
const class1 = limitsSchema("quota_class_set", [...listClassResources(1), ...listClassResources(50), "networks"]);

const UPDATE_CLASS = schemas<{ readonly quota_class_set: RequestedLimits }>(
  [1, class1],
  [50, limitsSchema("quota_class_set", listClassResources(50))],
  [57, limitsSchema("quota_class_set", listClassResources(57))],
);

const SET_QUERY = schemas<unknown>([1, querySchema("user_id", true)], [75, querySchema("user_id", false)]);

const LIMITS_QUERY = schemas<unknown>([1, querySchema("tenant_id", true)], [75, querySchema("tenant_id", false)]);

/** Names in GET /limits, by resource. */
const LIMITS: Partial<Readonly<Record<Resource, readonly string[]>>> = {
  ram: ["maxTotalRAMSize"],
  instances: ["maxTotalInstances"],
  cores: ["maxTotalCores"],
  key_pairs: ["maxTotalKeypairs"],
  floating_ips: ["maxTotalFloatingIps"],
  metadata_items: ["maxServerMeta", "maxImageMeta"],
  injected_files: ["maxPersonality"],
  injected_file_content_bytes: ["maxPersonalitySize"],
  security_groups: ["maxSecurityGroups"],
  security_group_rules: ["maxSecurityGroupRules"],
  server_groups: ["maxServerGroups"],
  server_group_members: ["maxServerGroupMembers"],
};

const USED: readonly (readonly [name: string, resource: Resource])[] = [
  ["totalRAMUsed", "ram"],
  ["totalCoresUsed", "cores"],
  ["totalInstancesUsed", "instances"],
  ["totalFloatingIpsUsed", "floating_ips"],
  ["totalSecurityGroupsUsed", "security_groups"],
  ["totalServerGroupsUsed", "server_groups"],
];

const quotaClassPolicy = (what: string): string => `os_compute_api:os-quota-class-sets:${what}`;

const quotaSetPolicy = (what: string): string => `os_compute_api:os-quota-sets:${what}`;

const userOf = ({ query }: Call): string | null => query.all("user_id")[0] || null;

const infinite = (limit: number): number => (limit < 0 ? Number.POSITIVE_INFINITY : limit);

/** Routes of quotas and limits of projects and users, with their usage. */
export const QUOTA_ROUTES: readonly ComputeRoute[] = [
  { method: "GET", path: "/limits", handle: showLimits },
  { method: "GET", path: "/os-quota-sets/:project", handle: showSet },
  { method: "PUT", path: "/os-quota-sets/:project", handle: updateSet },
  { method: "DELETE", path: "/os-quota-sets/:project", handle: deleteSet },
  { method: "GET", path: "/os-quota-sets/:project/defaults", handle: showDefaults },
  { method: "GET", path: "/os-quota-sets/:project/detail", handle: showDetail },
  { method: "GET", path: "/os-quota-class-sets/:name", handle: showClass },
  { method: "PUT", path: "/os-quota-class-sets/:name", handle: updateClass },
];

/** Returns the limits of a project or, with `user_id`, of a user in it. */
function showSet(deps: ComputeDeps, call: Call): ComputeResponse {
  const { project, user } = readTarget(deps, call, "show");
  return setOf(project, only(listQuotaResources(call.version), limitsOf(deps, project, user)));
}

/** Returns limits with their usage. Reservations do not exist here, so they are 0. */
function showDetail(deps: ComputeDeps, call: Call): ComputeResponse {
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

/** Returns the limits of a project without explicit quotas. Every authenticated user may read them. */
function showDefaults(deps: ComputeDeps, call: Call): ComputeResponse {
  const project = call.param("project");
  requireProject(deps, project);
  return setOf(project, only(listQuotaResources(call.version), defaultLimits(deps)));
}

/**
 * Sets all limits in the body, or none. Without `force`, a limit must not be below the usage or the sum of the users'
 * limits.
 */
function updateSet(deps: ComputeDeps, call: Call): ComputeResponse {
  const { force, ...limits } = call.body(UPDATE_SET).quota_set;
  call.checkQuery(SET_QUERY);
  requireAdmin(call, quotaSetPolicy("update"));
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

function deleteSet({ store }: ComputeDeps, call: Call): ComputeResponse {
  call.checkQuery(SET_QUERY);
  requireAdmin(call, quotaSetPolicy("delete"));
  store.quotas.destroy(call.param("project"), userOf(call));
  return { status: 202 };
}

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
    throw denied(quotaSetPolicy(rule));
  }
  requireProject(deps, project);
  return { project, user: userOf(call) };
}

/** @throws {HttpError} 400 */
function requireProject({ projectExists }: ComputeDeps, project: string): void {
  if (!projectExists(project)) {
    throw badRequest(`Project ID ${project} is not a valid project.`);
  }
}

function setOf(project: string, values: Readonly<Record<string, Json>>): ComputeResponse {
  return { body: { quota_set: { id: project, ...values } } };
}

/** @throws {HttpError} 400 */
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

function showClass(deps: ComputeDeps, call: Call): ComputeResponse {
  requireAdmin(call, quotaClassPolicy("show"));
  const name = call.param("name");
  return {
    body: { quota_class_set: { id: name, ...only(listClassResources(call.version), classLimits(deps, name)) } },
  };
}

/** Updates a class. Projects without explicit quotas have the limits of the class `default`. */
function updateClass(deps: ComputeDeps, call: Call): ComputeResponse {
  const { quota_class_set: limits } = call.body(UPDATE_CLASS);
  requireAdmin(call, quotaClassPolicy("update"));
  const name = call.param("name");
  const { store } = deps;
  store.transaction(() => {
    for (const [resource, limit] of Object.entries(limits)) {
      store.quotas.setClassLimit(name, resource, Number(limit));
    }
  });
  return { body: { quota_class_set: only(listClassResources(call.version), classLimits(deps, name)) } };
}

/** Returns the caller's limits. `tenant_id` is for administrators only, even for their own project. */
function showLimits(deps: ComputeDeps, call: Call): ComputeResponse {
  const { version, query, credentials } = call;
  call.checkQuery(LIMITS_QUERY);
  const other = query.get("tenant_id");
  if (other !== undefined) {
    requireAdmin(call, "os_compute_api:limits:other_project");
  }
  const project = other ?? credentials.projectId ?? "";
  const resources = listQuotaResources(version);
  const most = limitsOf(deps, project, null);
  const inUse = createUsageReader(deps, project, null);
  const names = resources.flatMap((resource) =>
    (LIMITS[resource] ?? []).map((name) => [name, most[resource] ?? UNLIMITED] as const),
  );
  const absolute = {
    ...Object.fromEntries(names.filter(([name]) => name !== "maxImageMeta" || version < 39)),
    ...Object.fromEntries(
      USED.filter(([, resource]) => resources.includes(resource)).map(([name, resource]) => [name, inUse(resource)]),
    ),
  };
  return { body: { limits: { rate: [], absolute } } };
}

function limitsSchema(member: string, names: readonly string[], more: Readonly<Record<string, Schema>> = {}): Schema {
  const limits = Object.fromEntries(names.map((name) => [name, LIMIT]));
  return {
    type: "object",
    properties: { [member]: { type: "object", properties: { ...limits, ...more }, additionalProperties: false } },
    required: [member],
    additionalProperties: false,
  };
}

// Nova defines `networks` as a property and then rejects it.
function quotaSetSchema(version: number, more: Readonly<Record<string, Schema>> = {}): Schema {
  return limitsSchema("quota_set", listQuotaResources(version), { ...more, force: BOOLEAN });
}

function querySchema(parameter: string, additionalProperties: boolean): Schema {
  return { type: "object", properties: { [parameter]: MULTI() }, additionalProperties };
}
