import { where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { overQuota } from "../engine/block-storage-errors.js";
import { QUOTAS } from "../resources/administration.js";
import { TYPES, type VolumeType } from "../resources/types.js";
import { requireType } from "../types/find-type.js";

/** Limits of projects without their own, in the order of responses. Those of types precede the groups'. */
const DEFAULTS: Readonly<Record<string, number>> = {
  volumes: 10,
  per_volume_gigabytes: -1,
  snapshots: 10,
  gigabytes: 1000,
  backups: 10,
  backup_gigabytes: 1000,
  groups: 10,
};

/** Quotas that each volume type has: `volumes_lvmdriver-1`. */
const OF_TYPES = ["volumes", "gigabytes", "snapshots"];

type Scope = "project" | "class";

/** The class whose limits apply to projects without their own. */
const DEFAULT_CLASS = "default";

/** Returns the names of all quotas with their defaults. */
export function defaultQuotas(context: BlockStorageContext): Readonly<Record<string, number>> {
  const types = context.table(TYPES).find({ sql: "1", values: [] }, "ORDER BY created_at DESC, id DESC");
  const ofTypes = types.flatMap(({ name }) => OF_TYPES.map((quota) => [`${quota}_${name}`, -1]));
  const { groups = -1, ...others } = { ...DEFAULTS, ...context.services.options.quotas };
  return {
    ...others,
    ...Object.fromEntries(ofTypes),
    groups,
    ...storedLimits(context, "class", DEFAULT_CLASS),
  };
}

/** Returns the limits of a project. */
export function quotasOf(context: BlockStorageContext, projectId: string): Readonly<Record<string, number>> {
  return { ...defaultQuotas(context), ...storedLimits(context, "project", projectId) };
}

export function storedLimits(
  context: BlockStorageContext,
  scope: Scope,
  owner: string,
): Readonly<Record<string, number>> {
  const rows = context.table(QUOTAS).find(where`scope = ${scope} AND owner = ${owner}`);
  return Object.fromEntries(rows.map(({ resource, hard_limit: limit }) => [resource, limit]));
}

export function saveLimit(
  context: BlockStorageContext,
  scope: Scope,
  owner: string,
  resource: string,
  limit: number,
): void {
  const same = where`scope = ${scope} AND owner = ${owner} AND resource = ${resource}`;
  if (!context.table(QUOTAS).updateIf(same, { hard_limit: limit })) {
    context.insert(QUOTAS, { id: context.newId(), scope, owner, resource, hard_limit: limit });
  }
}

export function removeLimits({ sql }: BlockStorageContext, projectId: string): void {
  sql.execute("DELETE FROM block_storage_quotas WHERE scope = 'project' AND owner = ?", projectId);
}

/** The queries that count the use of a quota. */
const USES: Readonly<Record<string, string>> = {
  volumes: "SELECT count(*) FROM block_storage_volumes WHERE consumes_quota = 1 AND project_id = ?",
  snapshots: "SELECT count(*) FROM block_storage_snapshots WHERE consumes_quota = 1 AND project_id = ?",
  backups: "SELECT count(*) FROM block_storage_backups WHERE project_id = ?",
  groups: "SELECT count(*) FROM block_storage_groups WHERE project_id = ?",
  backup_gigabytes: "SELECT coalesce(sum(size), 0) FROM block_storage_backups WHERE project_id = ?",
};

const GIGABYTES = ["block_storage_volumes", "block_storage_snapshots"].map(
  (table) => `SELECT coalesce(sum(size), 0) FROM ${table} WHERE consumes_quota = 1 AND project_id = ?`,
);

/** Returns what a project uses of a quota, counted from its records. @param typeId only of this volume type */
function usedQuota({ sql }: BlockStorageContext, projectId: string, quota: string, typeId?: string): number {
  const queries = quota === "gigabytes" ? GIGABYTES : [USES[quota] ?? "SELECT 0 WHERE ? IS NULL"];
  const ofType = typeId === undefined ? "" : " AND volume_type_id = ?";
  const values = typeId === undefined ? [projectId] : [projectId, typeId];
  return queries.reduce((sum, query) => sum + sql.number(query + ofType, ...values), 0);
}

/** Returns what a project uses of each of its quotas. */
export function usedQuotas(context: BlockStorageContext, projectId: string): Readonly<Record<string, number>> {
  const types = new Map(
    context
      .table(TYPES)
      .list()
      .map(({ name, id }) => [name, id]),
  );
  return Object.fromEntries(
    Object.keys(quotasOf(context, projectId)).map((name) => {
      const [, quota = "", typeName] = /^(volumes|gigabytes|snapshots)_(.*)$/.exec(name) ?? [];
      const typeId = typeName === undefined ? undefined : types.get(typeName);
      return [name, usedQuota(context, projectId, typeId === undefined ? name : quota, typeId)];
    }),
  );
}

/** The use of quotas that a request adds. */
export interface QuotaRequest {
  readonly projectId: string;
  readonly volumeTypeId?: string | null;
  /** Amounts by quota: `{ volumes: 1, gigabytes: 10 }`. The same quotas of the type are also checked. */
  readonly amounts: Readonly<Record<string, number>>;
  /** Whether only the quotas of the type can be exceeded, as by a change of the type. */
  readonly isOnlyOfType?: true;
}

/** Returns the type whose quotas a request uses; undefined for a deleted one. @throws {HttpError} 404 if it is hidden */
function findTypeOfQuota(context: BlockStorageContext, id: string): VolumeType | undefined {
  return context.table(TYPES).has(where`id = ${id}`) ? requireType(context, id) : undefined;
}

/**
 * Checks that a request stays within the quotas of a project and of the volume type.
 * @throws {HttpError} 404 if the caller may not use the type; 413 for the first exceeded quota, in the order of their names
 */
export function assertWithinQuotas(
  context: BlockStorageContext,
  { projectId, volumeTypeId, amounts, isOnlyOfType }: QuotaRequest,
): void {
  const limits = quotasOf(context, projectId);
  const type = volumeTypeId ? findTypeOfQuota(context, volumeTypeId) : undefined;
  for (const [quota, amount] of Object.entries(amounts).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!isOnlyOfType) {
      assertWithin(quota, quota, amount, limits[quota] ?? -1, () => usedQuota(context, projectId, quota));
    }
    if (type && OF_TYPES.includes(quota)) {
      const name = `${quota}_${type.name}`;
      assertWithin(name, quota, amount, limits[name] ?? -1, () => usedQuota(context, projectId, quota, type.id));
    }
  }
}

/** @throws {HttpError} 413 */
export function assertVolumeSize(context: BlockStorageContext, projectId: string, size: number): void {
  const { per_volume_gigabytes: limit = -1 } = quotasOf(context, projectId);
  if (limit >= 0 && size > limit) {
    throw overQuota(
      "VolumeSizeExceedsLimit",
      `Requested volume size ${size}G is larger than maximum allowed limit ${limit}G.`,
    );
  }
}

const EXCEPTIONS: Readonly<Record<string, string>> = {
  snapshots: "SnapshotLimitExceeded",
  backups: "BackupLimitExceeded",
  groups: "GroupLimitExceeded",
};

function assertWithin(name: string, quota: string, amount: number, limit: number, used: () => number): void {
  if (limit < 0 || amount <= 0 || used() + amount <= limit) {
    return;
  }
  const consumed = `Requested ${amount}G, quota is ${limit}G and ${used()}G has been consumed.`;
  if (quota === "gigabytes") {
    throw overQuota(
      "VolumeSizeExceedsAvailableQuota",
      `Requested volume or snapshot exceeds allowed ${name} quota. ${consumed}`,
    );
  }
  if (quota === "backup_gigabytes") {
    throw overQuota(
      "VolumeBackupSizeExceedsAvailableQuota",
      `Requested backup exceeds allowed Backup gigabytes quota. ${consumed}`,
    );
  }
  if (quota === "volumes") {
    throw overQuota(
      "VolumeLimitExceeded",
      `Maximum number of volumes allowed (${limit}) exceeded for quota '${name}'.`,
    );
  }
  throw overQuota(EXCEPTIONS[quota] ?? "", `Maximum number of ${quota} allowed (${limit}) exceeded`);
}
