import { STANDARD_RESOURCE_CLASSES } from "../../../records/resource-request.js";
import { databaseTooNew } from "../../database/database-file.js";
import type { Aggregate, Allocation, Consumer, ConsumerType, Project, Provider, User } from "../model.js";
import { STANDARD_TRAITS } from "../standard-traits.js";
import type { Change, Database } from "./database.js";
import type { Journal } from "./journal.js";
import { newProvider } from "./provider-changes.js";
import type { State } from "./state.js";

/** A row of a table, with the columns of `SELECT *`. */
interface ProviderRow {
  id: number;
  uuid: string;
  name: string;
  generation: number;
  parent_id: number | null;
  root_id: number;
  created_at: number;
  updated_at: number | null;
}

interface InventoryRow {
  provider_id: number;
  class_id: number;
  total: number;
  reserved: number;
  min_unit: number;
  max_unit: number;
  step_size: number;
  allocation_ratio: number;
  created_at: number;
  updated_at: number | null;
}

interface ConsumerRow {
  id: number;
  uuid: string;
  generation: number;
  project_id: number;
  user_id: number;
  type_id: number | null;
  created_at: number;
}

type AllocationRow = [consumerId: number, providerId: number, classId: number, used: number, createdAt: number];

/** Loads all records of a database into an empty state. */
export function load(state: State, database: Database): void {
  const rows = <T>(table: string): T[] => database.prepare(`SELECT * FROM placement_${table}`).all() as T[];
  // For long tables, SQLite returns all rows as one JSON string, which is several times faster to parse than rows are
  // to read. Columns of type REAL are excluded, because JSON would lose their last digits.
  const packed = <T>(table: string, columns: string): T[] => {
    const sql = `SELECT json_group_array(json_array(${columns})) AS packed FROM placement_${table}`;
    const [row] = database.prepare(sql).all() as { packed: string }[];
    return JSON.parse(row?.packed ?? "[]") as T[];
  };

  const classes = indexById(
    rows<{ id: number; name: string; created_at: number; updated_at: number | null }>("resource_classes"),
    (row) => ({
      id: row.id,
      name: row.name,
      createdAt: row.created_at,
      updatedAt: row.updated_at,
      inventories: new Set<never>(),
    }),
  );
  for (const each of classes.values()) {
    state.classes.set(each.name, each);
  }
  const traits = indexById(rows<{ id: number; name: string; created_at: number }>("traits"), (row) => ({
    id: row.id,
    name: row.name,
    createdAt: row.created_at,
    providers: new Set<Provider>(),
  }));
  for (const each of traits.values()) {
    state.traits.set(each.name, each);
  }
  const aggregates = indexById(rows<{ id: number; uuid: string }>("aggregates"), ({ id, uuid }): Aggregate => {
    return { id, uuid, providers: new Set() };
  });
  for (const each of aggregates.values()) {
    state.aggregates.set(each.uuid, each);
  }

  const providers = loadProviders(state, rows<ProviderRow>("resource_providers"));
  for (const row of rows<InventoryRow>("inventories")) {
    const provider = get(providers, row.provider_id);
    const resourceClass = get(classes, row.class_id);
    const { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = row;
    const amounts = { total, reserved, min_unit, max_unit, step_size, allocation_ratio };
    const times = { createdAt: row.created_at, updatedAt: row.updated_at };
    const inventory = { provider, resourceClass, amounts, used: 0, ...times };
    provider.inventories.set(resourceClass, inventory);
    (resourceClass.inventories as Set<typeof inventory>).add(inventory);
  }
  for (const [providerId, traitId] of packed<[number, number]>("provider_traits", "provider_id, trait_id")) {
    const provider = get(providers, providerId);
    const trait = get(traits, traitId);
    provider.traits.add(trait);
    trait.providers.add(provider);
  }
  for (const [providerId, aggregateId] of packed<[number, number]>(
    "provider_aggregates",
    "provider_id, aggregate_id",
  )) {
    const provider = get(providers, providerId);
    const aggregate = get(aggregates, aggregateId);
    provider.aggregates.add(aggregate);
    aggregate.providers.add(provider);
  }

  const projects = indexById(rows<{ id: number; external_id: string }>("projects"), (row): Project => {
    return { id: row.id, externalId: row.external_id, consumers: new Set() };
  });
  for (const each of projects.values()) {
    state.projects.set(each.externalId, each);
  }
  const users = indexById(rows<{ id: number; external_id: string }>("users"), (row): User => {
    return { id: row.id, externalId: row.external_id };
  });
  for (const each of users.values()) {
    state.users.set(each.externalId, each);
  }
  const types = indexById(rows<ConsumerType>("consumer_types"), (row): ConsumerType => row);
  for (const each of types.values()) {
    state.consumerTypes.set(each.name, each);
  }
  const consumers = indexById(rows<ConsumerRow>("consumers"), (row): Consumer => {
    const type = row.type_id === null ? null : get(types, row.type_id);
    const owner = { project: get(projects, row.project_id), user: get(users, row.user_id), type };
    return {
      id: row.id,
      uuid: row.uuid,
      generation: row.generation,
      ...owner,
      allocations: [],
      createdAt: row.created_at,
    };
  });
  for (const each of consumers.values()) {
    state.consumers.set(each.uuid, each);
    each.project.consumers.add(each);
  }
  const allocations = packed<AllocationRow>("allocations", "consumer_id, provider_id, class_id, used, created_at");
  for (const [consumerId, providerId, classId, used, createdAt] of allocations) {
    const consumer = get(consumers, consumerId);
    const provider = get(providers, providerId);
    const inventory = provider.inventories.get(get(classes, classId));
    if (inventory === undefined) {
      throw new Error(`allocations of ${consumer.uuid} have no inventory; the file is damaged`);
    }
    inventory.used += used;
    provider.consumers.add(consumer);
    (consumer.allocations as Allocation[]).push({ consumer, inventory, used, createdAt });
  }

  const tables = { classes, traits, aggregates, providers, projects, users, consumers, consumer_types: types };
  for (const [table, records] of Object.entries(tables)) {
    for (const id of records.keys()) {
      state.reserveId(table, id);
    }
  }
}

function loadProviders(state: State, rows: readonly ProviderRow[]): ReadonlyMap<number, Provider> {
  const providers = indexById(rows, (row): Provider => {
    const provider = newProvider(row.id, row.uuid, row.name, null, row.created_at);
    provider.generation = row.generation;
    provider.updatedAt = row.updated_at;
    return provider;
  });
  for (const row of rows) {
    const provider = get(providers, row.id);
    state.providers.set(row.uuid, provider);
    state.providersByName.set(row.name, provider);
    provider.root = get(providers, row.root_id);
    if (row.parent_id === null) {
      continue;
    }
    provider.parent = get(providers, row.parent_id);
    provider.parent.children.add(provider);
    state.nested += 1;
  }
  return providers;
}

/** Adds missing standard classes and traits. */
export function addStandards(state: State, journal: Journal | undefined, now: number): void {
  const changes: Change[] = [];
  STANDARD_RESOURCE_CLASSES.forEach((name, id) => {
    if (state.classes.has(name)) {
      return;
    }
    state.classes.set(name, { id, name, createdAt: now, updatedAt: null, inventories: new Set() });
    const sql = "INSERT INTO placement_resource_classes (id, name, created_at) VALUES (?, ?, ?)";
    changes.push({ sql, values: [id, name, now] });
  });
  const missing = STANDARD_TRAITS.filter((name) => !state.traits.has(name));
  const values = missing.flatMap((name) => {
    const id = state.nextId("traits");
    state.traits.set(name, { id, name, createdAt: now, providers: new Set() });
    return [id, name, now];
  });
  if (missing.length > 0) {
    const rows = Array(missing.length).fill("(?, ?, ?)").join(", ");
    changes.push({ sql: `INSERT INTO placement_traits (id, name, created_at) VALUES ${rows}`, values });
  }
  if (journal !== undefined && changes.length > 0) {
    journal.write(changes);
  }
}

function indexById<R extends { readonly id: number }, T>(rows: readonly R[], make: (row: R) => T): Map<number, T> {
  return new Map(rows.map((row) => [row.id, make(row)]));
}

function get<T>(records: ReadonlyMap<number, T>, id: number): T {
  const found = records.get(id);
  if (found === undefined) {
    throw new Error(`a row refers to the missing row ${id}; the file is damaged`);
  }
  return found;
}

/** The schema as a sequence of migrations. Never change a released one; add a new one. */
const STEPS: readonly string[] = [
  `
  CREATE TABLE placement_resource_classes (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL, updated_at INTEGER
  );
  CREATE TABLE placement_traits (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL);
  CREATE TABLE placement_resource_providers (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, name TEXT NOT NULL UNIQUE,
    generation INTEGER NOT NULL CHECK (generation >= 0),
    parent_id INTEGER REFERENCES placement_resource_providers (id) DEFERRABLE INITIALLY DEFERRED,
    root_id INTEGER NOT NULL REFERENCES placement_resource_providers (id) DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL, updated_at INTEGER
  );
  CREATE INDEX placement_resource_providers_parent ON placement_resource_providers (parent_id);
  CREATE INDEX placement_resource_providers_root ON placement_resource_providers (root_id);
  CREATE TABLE placement_inventories (
    provider_id INTEGER NOT NULL REFERENCES placement_resource_providers (id) DEFERRABLE INITIALLY DEFERRED,
    class_id INTEGER NOT NULL REFERENCES placement_resource_classes (id) DEFERRABLE INITIALLY DEFERRED,
    total INTEGER NOT NULL, reserved INTEGER NOT NULL, min_unit INTEGER NOT NULL, max_unit INTEGER NOT NULL,
    step_size INTEGER NOT NULL, allocation_ratio REAL NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER,
    PRIMARY KEY (provider_id, class_id)
  ) WITHOUT ROWID;
  CREATE INDEX placement_inventories_class ON placement_inventories (class_id);
  CREATE TABLE placement_provider_traits (
    provider_id INTEGER NOT NULL REFERENCES placement_resource_providers (id) DEFERRABLE INITIALLY DEFERRED,
    trait_id INTEGER NOT NULL REFERENCES placement_traits (id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (provider_id, trait_id)
  ) WITHOUT ROWID;
  CREATE INDEX placement_provider_traits_trait ON placement_provider_traits (trait_id);
  CREATE TABLE placement_aggregates (id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE);
  CREATE TABLE placement_provider_aggregates (
    provider_id INTEGER NOT NULL REFERENCES placement_resource_providers (id) DEFERRABLE INITIALLY DEFERRED,
    aggregate_id INTEGER NOT NULL REFERENCES placement_aggregates (id) DEFERRABLE INITIALLY DEFERRED,
    PRIMARY KEY (provider_id, aggregate_id)
  ) WITHOUT ROWID;
  CREATE TABLE placement_projects (id INTEGER PRIMARY KEY, external_id TEXT NOT NULL UNIQUE);
  CREATE TABLE placement_users (id INTEGER PRIMARY KEY, external_id TEXT NOT NULL UNIQUE);
  CREATE TABLE placement_consumer_types (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
  CREATE TABLE placement_consumers (
    id INTEGER PRIMARY KEY, uuid TEXT NOT NULL UNIQUE, generation INTEGER NOT NULL CHECK (generation >= 0),
    project_id INTEGER NOT NULL REFERENCES placement_projects (id) DEFERRABLE INITIALLY DEFERRED,
    user_id INTEGER NOT NULL REFERENCES placement_users (id) DEFERRABLE INITIALLY DEFERRED,
    type_id INTEGER REFERENCES placement_consumer_types (id) DEFERRABLE INITIALLY DEFERRED,
    created_at INTEGER NOT NULL
  );
  CREATE TABLE placement_allocations (
    consumer_id INTEGER NOT NULL REFERENCES placement_consumers (id) DEFERRABLE INITIALLY DEFERRED,
    provider_id INTEGER NOT NULL, class_id INTEGER NOT NULL, used INTEGER NOT NULL CHECK (used > 0),
    created_at INTEGER NOT NULL,
    PRIMARY KEY (consumer_id, provider_id, class_id),
    FOREIGN KEY (provider_id, class_id) REFERENCES placement_inventories (provider_id, class_id)
      DEFERRABLE INITIALLY DEFERRED
  ) WITHOUT ROWID;
  CREATE INDEX placement_allocations_inventory ON placement_allocations (provider_id, class_id);
  `,
  // Only deleting a trait or class used these indexes, and they were 50% of the cost of a new host's traits.
  `
  DROP INDEX placement_provider_traits_trait;
  DROP INDEX placement_inventories_class;
  `,
];

/**
 * Migrates the tables to the newest version in one transaction.
 * @throws {DatabaseTooNew} if a newer release wrote the file.
 */
export function migrate(database: Database): void {
  database.exec("CREATE TABLE IF NOT EXISTS placement_schema (version INTEGER NOT NULL)");
  const [row] = database.prepare("SELECT version FROM placement_schema").all() as { version: number }[];
  const version = row?.version ?? 0;
  if (version > STEPS.length) {
    throw databaseTooNew(database.path, "placement", version, STEPS.length);
  }
  if (version === STEPS.length) {
    return;
  }
  database.exec("BEGIN IMMEDIATE");
  try {
    for (const step of STEPS.slice(version)) {
      database.exec(step);
    }
    database.exec("DELETE FROM placement_schema");
    database.prepare("INSERT INTO placement_schema VALUES (?)").execute(STEPS.length);
    database.exec("COMMIT");
  } catch (error) {
    if (database.inTransaction) {
      database.exec("ROLLBACK");
    }
    throw error;
  }
}
