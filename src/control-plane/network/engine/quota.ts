import type { NetworkContext } from "./network-context.js";
import { networkError } from "./network-errors.js";
import type { NetworkResource } from "./network-resource.js";

/** Returns the limit of a project; -1: none. */
export function quotaLimit(
  { sql, services }: NetworkContext,
  projectId: string,
  quota: { readonly name: string; readonly default: number },
): number {
  const [limit] =
    sql.get("SELECT hard_limit FROM network_quotas WHERE project_id = ? AND resource = ?", projectId, quota.name) ?? [];
  return limit === undefined ? (services.options.quotas[quota.name] ?? quota.default) : Number(limit);
}

/** Counts the records of a project, at most to `max`. */
export function quotaUsed({ sql }: NetworkContext, projectId: string, { table }: NetworkResource, max = -1): number {
  return sql.number(`SELECT count(*) FROM (SELECT 1 FROM ${table} WHERE project_id = ? LIMIT ?)`, projectId, max);
}

/** @param count the number of records to create @throws {HttpError} 409 */
export function assertWithinQuota(
  context: NetworkContext,
  resource: NetworkResource,
  projectId: string,
  count = 1,
): void {
  const { quota } = resource;
  if (quota === undefined) {
    return;
  }
  const limit = quotaLimit(context, projectId, quota);
  if (limit >= 0 && quotaUsed(context, projectId, resource, limit + 1) + count > limit) {
    throw networkError(409, "OverQuota", `Quota exceeded for resources: ['${quota.name}'].`);
  }
}
