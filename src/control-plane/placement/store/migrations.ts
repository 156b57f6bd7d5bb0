import { DatabaseTooNew } from "../../database/database-errors.js";
import type { Database } from "./database.js";

/** The schema, a step a version. A released step is never changed: a new one is added. */
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
  // Asked of nowhere but by the check of a trait's or class's own delete; of what a new host's traits cost, half was the index.
  `
  DROP INDEX placement_provider_traits_trait;
  DROP INDEX placement_inventories_class;
  `,
];

/**
 * Brings the tables to the newest version, in one transaction.
 * @throws {DatabaseTooNew} when the file was written by a newer release.
 */
export function migrate(database: Database): void {
  database.exec("CREATE TABLE IF NOT EXISTS placement_schema (version INTEGER NOT NULL)");
  const [row] = database.prepare("SELECT version FROM placement_schema").all() as { version: number }[];
  const version = row?.version ?? 0;
  if (version > STEPS.length) {
    throw new DatabaseTooNew(database.path, "placement", version, STEPS.length);
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
