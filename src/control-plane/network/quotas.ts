import { badRequest, conflict, HttpError } from "../http/http-error.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import type { Store } from "../store/store.js";
import { enforce, invalidInput, type NetworkCall, type NetworkRoute } from "./api/call.js";
import { Input } from "./api/input.js";

/** Limits of a project without explicit quotas. Ports are unlimited, since Compute limits servers. */
const DEFAULTS = {
  network: 0,
  subnet: 0,
  subnetpool: 0,
  port: -1,
  router: 0,
  floatingip: 0,
  rbac_policy: 0,
  security_group: 10,
  security_group_rule: 100,
} as const;

type QuotaName = keyof typeof DEFAULTS;

const NAMES = Object.keys(DEFAULTS) as readonly QuotaName[];

/** The largest integer of Neutron's database. */
const MAX_LIMIT = 0x7fffffff;

/** @throws {HttpError} 409 */
export function assertWithinQuota(store: Store, resource: QuotaName, projectId: string): void {
  const limit = limitsOf(store, projectId)[resource];
  if (limit >= 0 && usedBy(store, projectId, resource) + reservedBy(store, projectId, resource) >= limit) {
    throw conflict(`Quota exceeded for resources: ['${resource}'].`, "OverQuota");
  }
}

/**
 * Returns a project's port quota; null if unlimited. `reserved` counts ports of servers that are requested but not yet
 * placed.
 */
export function portQuota(
  store: Store,
  projectId: string,
): { readonly limit: number; readonly used: number; readonly reserved: number } | null {
  const { port: limit } = limitsOf(store, projectId);
  return limit < 0
    ? null
    : { limit, used: usedBy(store, projectId, "port"), reserved: reservedBy(store, projectId, "port") };
}

export const QUOTA_ROUTES = routes<NetworkRoute>({
  "GET /v2.0/quotas": ({ caller, store }) => {
    enforce(caller, "get_quota");
    const quotas = store.networkQuotas
      .projects()
      .map((project) => ({ ...limitsOf(store, project), project_id: project, tenant_id: project }));
    return { body: { quotas } };
  },
  "GET /v2.0/quotas/:project": (call) => ({ body: { quota: limitsOf(call.store, readableProject(call)) } }),
  "GET /v2.0/quotas/:project/default": (call) => {
    readableProject(call);
    return { body: { quota: DEFAULTS } };
  },
  "GET /v2.0/quotas/:project/details": showUsage,
  "PUT /v2.0/quotas/:project": updateQuota,
  "DELETE /v2.0/quotas/:project": (call) => {
    enforce(call.caller, "delete_quota");
    const { store } = call;
    const project = call.param("project");
    if (!store.networkQuotas.projects().includes(project)) {
      throw new HttpError(404, `Quota for tenant ${project} could not be found.`, { code: "TenantQuotaNotFound" });
    }
    store.networkQuotas.remove(project);
    return { status: 204 };
  },
});

/** Returns the project that the path names, if the caller may read its quotas. @throws {HttpError} 403 */
function readableProject(call: NetworkCall): string {
  const project = call.param("project");
  enforce(call.caller, "get_quota", project);
  return project;
}

function limitsOf({ networkQuotas }: Store, projectId: string): Readonly<Record<QuotaName, number>> {
  return { ...DEFAULTS, ...networkQuotas.limits(projectId) };
}

function usedBy({ ports, securityGroups }: Store, projectId: string, resource: QuotaName): number {
  switch (resource) {
    case "port":
      return ports.count(projectId);
    case "security_group":
      return securityGroups.count(projectId);
    case "security_group_rule":
      return securityGroups.countRules(projectId);
    default:
      return 0;
  }
}

function reservedBy({ ports }: Store, projectId: string, resource: QuotaName): number {
  return resource === "port" ? ports.countReserved(projectId) : 0;
}

function showUsage(call: NetworkCall): RouteResponse {
  const project = readableProject(call);
  const limits = limitsOf(call.store, project);
  const details = NAMES.map((name) => {
    const used = usedBy(call.store, project, name);
    return [name, { limit: limits[name], used, reserved: reservedBy(call.store, project, name) }] as const;
  });
  return { body: { quota: Object.fromEntries(details) } };
}

/** Sets all limits in the body, or none. @throws {HttpError} 400, 403 */
function updateQuota(call: NetworkCall): RouteResponse {
  const { store, caller } = call;
  enforce(caller, "update_quota");
  const project = call.param("project");
  const input = new Input(call.body().quota);
  input.any("force");
  const checksUsage = input.flag("check_limit") ?? false;
  const limits = NAMES.flatMap((name) => {
    const value = input.any(name);
    return value === undefined ? [] : [[name, limitArgument(name, value)] as const];
  });
  input.end();
  for (const [name, limit] of checksUsage ? limits : []) {
    const used = usedBy(store, project, name);
    if (used > limit) {
      throw badRequest(`Quota limit ${limit} for ${name} must be greater than or equal to already used ${used}`);
    }
  }
  store.transaction(() => {
    for (const [name, limit] of limits) {
      store.networkQuotas.set(project, name, limit);
    }
  });
  return { body: { quota: limitsOf(store, project) } };
}

function limitArgument(name: string, value: unknown): number {
  const limit = typeof value === "string" && /^\s*[+-]?\d{1,15}\s*$/.test(value) ? Number(value) : value;
  if (typeof limit !== "number" || !Number.isFinite(limit)) {
    throw invalidInput(name, `'${value}' is not an integer.`);
  }
  const truncated = Math.trunc(limit);
  if (truncated < -1) {
    throw invalidInput(name, `'${truncated}' is too small - must be at least '-1'.`);
  }
  if (truncated > MAX_LIMIT) {
    throw invalidInput(name, `'${truncated}' is too large - must be no larger than '${MAX_LIMIT}'.`);
  }
  return truncated;
}
