import { ConductorError } from "../../conductor-client/errors.js";
import type { MigrationFilters } from "../../conductor-client/methods/records.js";
import { nullable, text } from "../../records/field.js";
import {
  FINAL_MIGRATION_STATUSES,
  MIGRATION,
  type Migration,
  type MigrationChanges,
  type MigrationStatus,
  type MigrationType,
} from "../../records/index.js";
import { Conditions, orderBy, type Place, type SortColumn } from "./conditions.js";
import { rejectField, type SqlValue } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** Only rows written by another program can lack the uuid. */
type Row = Omit<Migration, "uuid"> & { readonly uuid: string | null };

type NewMigration = {
  readonly instanceUuid: string;
  readonly migrationType: MigrationType;
  readonly status: MigrationStatus;
  readonly changes?: MigrationChanges;
};

export interface MigrationQuery extends MigrationFilters {
  readonly userId?: string;
  readonly projectId?: string;
  /** ms */
  readonly changedSince?: number;
  readonly changedBefore?: number;
}

const CHANGED = "coalesce(updated_at, created_at)";

const NEWEST: readonly SortColumn[] = [
  { column: "created_at", direction: "DESC", nullable: false },
  { column: "id", direction: "DESC", nullable: false },
];

const MIGRATIONS = tableOf("migrations", { ...MIGRATION, uuid: nullable(text(36)) });

/** Table `migrations` (spec 1.5). */
export function createMigrationTable({
  sql,
  clock,
  random,
  changes,
  recentInstances,
  recentMigrations,
  followers,
}: StoreContext) {
  const table = new Table(sql, MIGRATIONS);

  return {
    get,
    getByUuid: (uuid: string): Migration | null => withUuid(table.one("uuid = ?", uuid)),
    /**
     * Returns instance and destination of a finished move; null if it is in progress, is an evacuation, or has no
     * destination yet.
     */
    endedMove(id: number): { readonly instanceUuid: string; readonly destCompute: string } | null {
      const migration = get(id);
      if (migration === null || migration.destCompute === null || migration.migrationType === "evacuation") {
        // An evacuation has no second host that could still be working.
        return null;
      }
      const { instanceUuid, destCompute, deleted, status } = migration;
      return deleted !== 0 || FINAL_MIGRATION_STATUSES.includes(status) ? { instanceUuid, destCompute } : null;
    },
    /** Returns the matching migrations by id. */
    byFilters: (filters: MigrationFilters): Migration[] => many(conditionsOf(filters)),
    /**
     * Returns a page for the Compute API, newest first, without hidden migrations.
     * @param after a position in that order, from `place`
     */
    newest(query: MigrationQuery, { after, limit }: { readonly after?: Place; readonly limit: number }): Migration[] {
      const { userId, projectId, changedSince, changedBefore } = query;
      const conditions = conditionsOf(query)
        .add("hidden = 0")
        .equal("user_id", userId)
        .equal("project_id", projectId)
        .atLeast(CHANGED, changedSince)
        .atMost(CHANGED, changedBefore)
        .behind(NEWEST, after);
      return read(`${conditions.sql} ORDER BY ${orderBy(NEWEST)} LIMIT ?`, ...conditions.values, limit);
    },
    /** Returns a migration's position in the order of `newest`; null if it does not exist. */
    place: (uuid: string): Place | null =>
      sql.get("SELECT created_at, id FROM migrations WHERE uuid = ? AND deleted = 0", uuid) ?? null,
    inProgress(host: string, node: string, options: { readonly includeError?: boolean } = {}): Migration[] {
      const ended = FINAL_MIGRATION_STATUSES.filter((status) => !(options.includeError && status === "error"));
      const conditions = new Conditions()
        .add("(source_compute = ? AND source_node = ?) OR (dest_compute = ? AND dest_node = ?)", host, node, host, node)
        .add("status NOT IN (SELECT value FROM json_each(?))", JSON.stringify(ended))
        .add("deleted = 0");
      return many(conditions);
    },
    /** Returns at most `limit` migrations that are neither finished nor waiting for confirmation. */
    underWay(limit: number): { readonly type: string; readonly status: string; readonly instanceUuid: string }[] {
      const rest = JSON.stringify([...FINAL_MIGRATION_STATUSES, "finished"]);
      return read(
        "status NOT IN (SELECT value FROM json_each(?)) AND deleted = 0 ORDER BY id LIMIT ?",
        rest,
        limit,
      ).map(({ migrationType, status, instanceUuid }) => ({ type: migrationType, status, instanceUuid }));
    },
    create(migration: NewMigration): Migration {
      const { instanceUuid, migrationType, status, changes: values = {} } = migration;
      if (typeof values.destNode === "string" && typeof values.destComputeId !== "number") {
        rejectField("changes.destComputeId", values.destComputeId, `the id of compute node ${values.destNode}`);
      }
      return sql.transaction(() => {
        if (!sql.get("SELECT 1 FROM instances WHERE uuid = ?", instanceUuid)) {
          throw new ConductorError("InstanceNotFound", `instance ${instanceUuid} of the new migration was not found`, {
            uuid: instanceUuid,
          });
        }
        const id = table.insert({
          ...values,
          uuid: random.uuid(),
          instanceUuid,
          migrationType,
          status,
          createdAt: clock.now(),
        });
        dropContext(instanceUuid);
        changes.changed("migration", id);
        const created = existing(id);
        for (const follower of followers) {
          follower.migrationSaved(created, null);
        }
        return created;
      });
    },
    save: (
      id: number,
      values: MigrationChanges,
      options: { readonly expectedStatus?: readonly MigrationStatus[] } = {},
    ): Migration =>
      sql.transaction(() => {
        const found = existing(id);
        const { status, instanceUuid } = found;
        if (options.expectedStatus && !options.expectedStatus.includes(status)) {
          throw new ConductorError(
            "InvalidMigrationState",
            `migration ${id}: found status ${status}, expected ${options.expectedStatus.join(", ")}`,
            { id, actual: status, expected: options.expectedStatus },
          );
        }
        const changed = table.change(found, { ...values, updatedAt: clock.now() });
        recentMigrations.set(id, changed);
        if (values.status && FINAL_MIGRATION_STATUSES.includes(values.status)) {
          dropContext(instanceUuid, id);
        }
        changes.changed("migration", id);
        for (const follower of followers) {
          follower.migrationSaved(changed, found);
        }
        return changed;
      }),
    /** Generates uuids for rows without one, including deleted rows, oldest first (spec 1.5). */
    fillUuids: (limit: number): { readonly needed: number; readonly completed: number } =>
      sql.transaction(() => {
        const needed = sql.number("SELECT count(*) FROM migrations WHERE uuid IS NULL");
        const rows = table.many("uuid IS NULL ORDER BY id LIMIT ?", limit);
        for (const row of rows) {
          withUuid(row);
        }
        return { needed, completed: rows.length };
      }),
  };

  function get(id: number): Migration | null {
    const known = recentMigrations.get(id);
    if (known !== undefined) {
      return known;
    }
    const migration = withUuid(table.one("id = ?", id));
    if (migration !== null) {
      recentMigrations.set(id, migration);
    }
    return migration;
  }

  /**
   * Removes a move's context from an instance that is not deleted: a finished move leaves none, and a new move starts
   * without one.
   * Otherwise a tracker would set the new move to error (spec 4.5). A deleted instance retains its context, to find the
   * move's files on the hosts (spec 3.7).
   * @param migrationId only this move's context; absent: the context of any move
   */
  function dropContext(instanceUuid: string, migrationId?: number): void {
    const dropped = sql.run(
      `UPDATE instances SET migration_context = NULL, updated_at = ?
        WHERE uuid = ? AND deleted = 0 AND migration_context IS NOT NULL
          AND (? IS NULL OR json_extract(migration_context, '$.migrationId') = ?)`,
      clock.now(),
      instanceUuid,
      migrationId ?? null,
      migrationId ?? null,
    );
    if (dropped.changes > 0) {
      recentInstances.forget(instanceUuid);
      changes.changed("instance", instanceUuid);
    }
  }

  function existing(id: number): Migration {
    const migration = get(id);
    if (!migration) {
      throw new ConductorError("MigrationNotFound", `migration ${id} was not found`, { id });
    }
    return migration;
  }

  function many(conditions: Conditions): Migration[] {
    return read(`${conditions.sql} ORDER BY id`, ...conditions.values);
  }

  function read(condition: string, ...values: SqlValue[]): Migration[] {
    return table.many(condition, ...values).flatMap((row) => withUuid(row) ?? []);
  }

  function withUuid(row: Row | null): Migration | null {
    if (row === null) {
      return null;
    }
    const uuid = row.uuid ?? random.uuid();
    if (row.uuid === null) {
      sql.execute("UPDATE migrations SET uuid = ? WHERE id = ? AND uuid IS NULL", uuid, row.id);
    }
    return { ...row, uuid };
  }
}

function conditionsOf(filters: MigrationFilters): Conditions {
  const { sourceCompute, destCompute, host, instanceUuid, uuids, migrationTypes, statuses, updatedBefore } = filters;
  const conditions = new Conditions()
    .equal("source_compute", sourceCompute)
    .equal("dest_compute", destCompute)
    .equal("instance_uuid", instanceUuid)
    .oneOf("uuid", uuids)
    .oneOf("migration_type", migrationTypes)
    .oneOf("status", statuses);
  if (host !== undefined) {
    conditions.add("source_compute = ? OR dest_compute = ?", host, host);
  }
  if (updatedBefore !== undefined) {
    conditions.add(`${CHANGED} < ?`, updatedBefore);
  }
  return filters.readDeleted ? conditions : conditions.add("deleted = 0");
}
