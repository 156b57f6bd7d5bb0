import { ConductorError } from "../../conductor-client/errors.js";
import type { MigrationFilters } from "../../conductor-client/methods/records.js";
import type { Migration, MigrationChanges, MigrationStatus } from "../../records/index.js";
import { INSTANCE_OBJECT } from "../objects/instance.js";
import { MIGRATION_OBJECT } from "../objects/migration.js";
import { listedObjects, objectOf } from "../objects/primitive.js";
import { builtObject, fieldsOf, readRecord, writeRecord } from "../objects/record-object.js";
import { assertNotSuperseded } from "./actions.js";
import { saveInstance } from "./instances.js";
import { type CallTools, type ConductorCalls, nullIf } from "./nova-conductor.js";

export const MIGRATION_CALLS = {
  migration_get: async ({ id }, tools) => {
    const offered = tools.scopes.current?.rows.accept("Migration", id);
    return offered === undefined ? migrationById(id, tools) : readRecord(MIGRATION_OBJECT, offered);
  },
  migrations_by_filters: async ({ filters }, tools) => {
    const read = { ...tools.options, deleted: filters.readDeleted ?? false };
    const list = await tools.nova.ask("MigrationList", "get_by_filters", [novaFilters(filters)], {}, read);
    for (const migration of listedObjects(list, "MigrationList")) {
      tools.scopes.current?.rows.note(migration);
    }
    return records(list).filter((migration) => fits(migration, filters));
  },
  migrations_in_progress: async ({ host, node, includeError = false }, { nova, options }) => {
    const method = includeError ? "get_in_progress_and_error" : "get_in_progress_by_host_and_node";
    return records(await nova.ask("MigrationList", method, [host, node], {}, options));
  },
  migration_create: async ({ instanceUuid, migrationType, status, changes }, { nova, options }) => {
    const values = { instanceUuid, migrationType, status, ...changes };
    const { object } = await nova.act(writeRecord(MIGRATION_OBJECT, values, nova.profile), "create", {}, options);
    return readRecord(MIGRATION_OBJECT, object);
  },
  migration_save: (params, tools) => saveMigration(params, tools),
  // Nova needs two saves. If the second one fails, recovery handles the remainder.
  save_together: async ({ instance, migration }, tools) => {
    if (instance?.ofRequest !== undefined) {
      await assertNotSuperseded(instance.uuid, instance.ofRequest, tools);
    }
    const before = migration === undefined ? undefined : await expectStatus(migration, tools);
    const saveMove = async () =>
      migration === undefined ? null : writeMigration(migration.id, migration.changes, before, tools);
    // A user who sees the resized instance may confirm or delete it at once: the API then requires the finished migration.
    const finished = migration?.changes.status === "finished" ? await saveMove() : null;
    const savedInstance = instance === undefined ? null : await saveInstance(instance, tools);
    const savedMigration = finished ?? (await saveMove());
    return {
      instance: savedInstance === null ? null : readRecord(INSTANCE_OBJECT, savedInstance),
      migration: savedMigration,
    };
  },
} satisfies Partial<ConductorCalls>;

interface MigrationSave {
  readonly id: number;
  readonly changes: MigrationChanges;
  readonly expectedStatus?: readonly MigrationStatus[] | undefined;
}

async function saveMigration(save: MigrationSave, tools: CallTools): Promise<Migration> {
  const before = await expectStatus(save, tools);
  return writeMigration(save.id, save.changes, before, tools);
}

/** Checks the status before the save, since Nova's save has no such condition. @returns the row, if it was read */
async function expectStatus({ id, expectedStatus }: MigrationSave, tools: CallTools): Promise<Migration | undefined> {
  if (expectedStatus === undefined) {
    return undefined;
  }
  const freshMigration = tools.scopes.current?.rows.fresh("Migration", id);
  const found =
    freshMigration === undefined ? await migrationById(id, tools) : readRecord(MIGRATION_OBJECT, freshMigration);
  if (found === null) {
    throw new ConductorError("MigrationNotFound", `Migration ${id} could not be found.`);
  }
  if (!expectedStatus.includes(found.status)) {
    throw new ConductorError(
      "InvalidMigrationState",
      `migration ${id} is ${found.status}, expected ${expectedStatus.join(" or ")}`,
      {
        status: found.status,
      },
    );
  }
  return found;
}

async function writeMigration(
  id: number,
  changes: MigrationChanges,
  before: Migration | undefined,
  { nova, options, scopes }: CallTools,
): Promise<Migration> {
  const data = fieldsOf(MIGRATION_OBJECT, changes, nova.profile);
  const freshMigration = scopes.current?.rows.fresh("Migration", id);
  if (
    freshMigration !== undefined &&
    Object.entries(data).every(([field, value]) => freshMigration["nova_object.data"][field] === value)
  ) {
    return readRecord(MIGRATION_OBJECT, freshMigration);
  }
  const migration = builtObject("Migration", { id, ...data }, nova.profile, Object.keys(data));
  const { object } = await nova.act(migration, "save", {}, options);
  const known = before === undefined ? {} : fieldsOf(MIGRATION_OBJECT, before, nova.profile);
  const complete = { ...object, "nova_object.data": { ...known, ...object["nova_object.data"] } };
  scopes.current?.rows.note(complete);
  return readRecord(MIGRATION_OBJECT, complete);
}

/** Reads a migration; null if there is none. */
async function migrationById(id: number, { nova, options, scopes }: CallTools): Promise<Migration | null> {
  const read = nova.ask("Migration", "get_by_id", [id], {}, { ...options, deleted: true });
  const found = await nullIf(read, "MigrationNotFound");
  if (found === null) {
    return null;
  }
  const object = objectOf(found, "Migration");
  scopes.current?.rows.note(object);
  return readRecord(MIGRATION_OBJECT, object);
}

/**
 * Returns the filters that Nova supports; {@link fits} applies the rest. Nova accepts no list of types, and ignores
 * dest_compute.
 */
function novaFilters({ statuses, migrationTypes, sourceCompute, destCompute, host, ...filters }: MigrationFilters) {
  const [type] = migrationTypes ?? [];
  return {
    ...(statuses === undefined ? {} : { status: statuses }),
    ...(migrationTypes?.length === 1 ? { migration_type: type } : {}),
    ...(sourceCompute === undefined ? {} : { source_compute: sourceCompute }),
    ...(host !== undefined || destCompute !== undefined ? { host: host ?? destCompute } : {}),
    ...(filters.instanceUuid === undefined ? {} : { instance_uuid: filters.instanceUuid }),
    ...(filters.uuids === undefined ? {} : { uuid: filters.uuids }),
  };
}

function fits(migration: Migration, filters: MigrationFilters): boolean {
  const { sourceCompute, destCompute, migrationType, status, uuid, updatedAt, createdAt } = migration;
  const isOneOf = <T>(value: T, allowed: readonly T[] | undefined) => allowed === undefined || allowed.includes(value);
  return (
    isOneOf(status, filters.statuses) &&
    isOneOf(migrationType, filters.migrationTypes) &&
    isOneOf(uuid, filters.uuids) &&
    isOneOf(filters.sourceCompute ?? sourceCompute, [sourceCompute]) &&
    isOneOf(filters.destCompute ?? destCompute, [destCompute]) &&
    isOneOf(filters.host ?? null, [sourceCompute, destCompute, ...(filters.host === undefined ? [null] : [])]) &&
    (filters.updatedBefore === undefined || (updatedAt ?? createdAt) < filters.updatedBefore)
  );
}

function records(list: unknown): Migration[] {
  return listedObjects(list, "MigrationList").map((migration) => readRecord(MIGRATION_OBJECT, migration));
}
