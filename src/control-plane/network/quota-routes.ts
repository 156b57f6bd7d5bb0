import { isObject } from "../../runtime/collections.js";
import { badRequest } from "../http/http-error.js";
import type { RouteResponse } from "../http/responses.js";
import { routes } from "../http/router.js";
import { CONVERTERS } from "./engine/converters.js";
import type { NetworkCall, NetworkRoute } from "./engine/network-call.js";
import type { NetworkContext } from "./engine/network-context.js";
import { networkError } from "./engine/network-errors.js";
import { enforceRule } from "./engine/network-policy.js";
import { defineResource, type NetworkResource } from "./engine/network-resource.js";
import { isTruthy } from "./engine/python-values.js";
import { quotaLimit, quotaUsed } from "./engine/quota.js";
import { VALIDATORS } from "./engine/validators.js";

/** Describes quotas for their policies; requests have routes of their own. */
const QUOTAS = defineResource({
  collection: "quotas",
  singular: "quota",
  path: "/v2.0/quotas",
  extension: "quotas",
  table: "network_quotas",
  attributes: {},
  notFound: { type: "TenantQuotaNotFound" },
});

/** The order of the limits in Neutron's responses. */
const ORDER = [
  ...["network", "subnet", "subnetpool", "port", "router", "floatingip", "rbac_policy"],
  ...["security_group", "security_group_rule", "trunk"],
];

/** The largest integer of Neutron's database. */
const MAX_LIMIT = 0x7fffffff;

/** The limits of projects, and how much of them is used. A limit of -1 is none. */
export const QUOTA_ROUTES = routes<NetworkRoute>(
  {
    "GET /": listQuotas,
    "GET /tenant": (call) => ({ body: { tenant: { tenant_id: ownProject(call) } } }),
    "GET /project": (call) => ({ body: { project: { project_id: ownProject(call) } } }),
    "GET /:project": (call) => ({ body: { quota: limitsOf(call.context, readableProject(call)) } }),
    "GET /:project/default": (call) => {
      readableProject(call);
      return { body: { quota: limitsOf(call.context, "") } };
    },
    "GET /:project/details": showDetails,
    "PUT /:project": updateQuota,
    "DELETE /:project": deleteQuota,
  },
  { prefix: QUOTAS.path },
);

type LimitedResource = NetworkResource & { readonly quota: NonNullable<NetworkResource["quota"]> };

function limitedResources({ services }: NetworkContext): readonly LimitedResource[] {
  const limited = services.registry.all.flatMap(({ resource }) => (hasQuota(resource) ? [resource] : []));
  return limited.toSorted((one, other) => positionOf(one) - positionOf(other));
}

const hasQuota = (resource: NetworkResource): resource is LimitedResource => resource.quota !== undefined;

function positionOf({ quota }: LimitedResource): number {
  const index = ORDER.indexOf(quota.name);
  return index === -1 ? ORDER.length : index;
}

function limitsOf(context: NetworkContext, projectId: string): Record<string, number> {
  return Object.fromEntries(
    limitedResources(context).map(({ quota }) => [quota.name, quotaLimit(context, projectId, quota)]),
  );
}

function listQuotas({ context }: NetworkCall): RouteResponse {
  enforce(context, "get_quota");
  const projects = context.sql.strings("SELECT DISTINCT project_id FROM network_quotas ORDER BY project_id");
  const quotas = projects.map((id) => ({ ...limitsOf(context, id), project_id: id, tenant_id: id }));
  return { body: { quotas } };
}

function showDetails({ context, params }: NetworkCall): RouteResponse {
  const project = params.project ?? "";
  const { caller } = context;
  if (project !== caller.projectId && !caller.isAdmin) {
    const message =
      "User does not have admin privileges: Only admin is authorized to access quotas for another project.";
    throw networkError(403, "AdminRequired", message);
  }
  const details = limitedResources(context).map((resource) => [
    resource.quota.name,
    { limit: quotaLimit(context, project, resource.quota), used: quotaUsed(context, project, resource), reserved: 0 },
  ]);
  return { body: { quota: Object.fromEntries(details) } };
}

/** Sets all limits in the body, or none. @throws {HttpError} 400, 403 */
function updateQuota(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforce(context, "update_quota");
  const project = call.param("project");
  const { force: _, check_limit: checksUsage, ...requested } = readQuota(call);
  const resources = limitedResources(context);
  const unknown = Object.keys(requested).filter((name) => !resources.some(({ quota }) => quota.name === name));
  if (unknown.length > 0) {
    throw badRequest(`Unrecognized attribute(s) '${unknown.join(", ")}'`);
  }
  const limits = resources.flatMap((resource) => {
    const { name } = resource.quota;
    return Object.hasOwn(requested, name) ? [{ resource, name, limit: readLimit(name, requested[name]) }] : [];
  });
  context.sql.transaction(() => {
    for (const { resource, name, limit } of isTruthy(checksUsage) ? limits : []) {
      const used = quotaUsed(context, project, resource);
      if (limit >= 0 && used > limit) {
        throw badRequest(`Quota limit ${limit} for ${name} must be greater than or equal to already used ${used}`);
      }
    }
    for (const { name, limit } of limits) {
      context.sql.execute(
        `INSERT INTO network_quotas (project_id, resource, hard_limit) VALUES (?, ?, ?)
          ON CONFLICT (project_id, resource) DO UPDATE SET hard_limit = excluded.hard_limit`,
        project,
        name,
        limit,
      );
    }
  });
  return { body: { quota: limitsOf(context, project) } };
}

function readQuota(call: NetworkCall): Readonly<Record<string, unknown>> {
  const body = call.body();
  const quota = isObject(body) ? body.quota : undefined;
  if (!isObject(quota)) {
    throw badRequest("Unable to find 'quota' in request body");
  }
  return quota;
}

function readLimit(name: string, value: unknown): number {
  const limit = CONVERTERS.convert_to_int?.(value);
  const reason = VALIDATORS["type:range"]?.(limit, [-1, MAX_LIMIT]);
  if (reason !== undefined) {
    throw badRequest(`Invalid input for ${name}. Reason: ${reason}.`);
  }
  return Number(limit);
}

function deleteQuota(call: NetworkCall): RouteResponse {
  const { context } = call;
  enforce(context, "delete_quota");
  const project = call.param("project");
  context.sql.transaction(() => {
    if (context.sql.get("SELECT 1 FROM network_quotas WHERE project_id = ? LIMIT 1", project) === undefined) {
      throw networkError(404, QUOTAS.notFound.type, `Quota for tenant ${project} could not be found.`);
    }
    context.sql.execute("DELETE FROM network_quotas WHERE project_id = ?", project);
  });
  return { status: 204 };
}

/** Returns the project that the path names, if the caller may read its quotas. @throws {HttpError} 403 */
function readableProject(call: NetworkCall): string {
  const project = call.param("project");
  if (project !== call.context.caller.projectId) {
    enforce(call.context, "get_quota");
  }
  return project;
}

/** Neutron checks quotas with the caller's own project, so that a manager reads and lists those of all projects. */
function enforce(context: NetworkContext, rule: string): void {
  enforceRule(context, rule, QUOTAS, { project_id: context.caller.projectId });
}

function ownProject({ context }: NetworkCall): string {
  const { projectId } = context.caller;
  if (projectId === "") {
    throw networkError(400, "QuotaMissingTenant", "Tenant-id was missing from quota request.");
  }
  return projectId;
}
