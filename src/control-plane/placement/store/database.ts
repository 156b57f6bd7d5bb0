import { DatabaseFile, type SqlValue } from "../../database/database-file.js";
import type { Allocation, Consumer, Inventory, Provider } from "../model.js";

export type { SqlValue };

export interface Statement {
  execute(...values: SqlValue[]): void;
  all(...values: SqlValue[]): unknown[];
}

/**
 * The part of a SQLite connection that Placement uses. Its tables have a prefix, so that the file can contain other
 * tables.
 */
export interface Database {
  readonly path: string;
  /** Also false after a failure in which SQLite itself rolled back the transaction, as on a full disk. */
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): unknown;
}

const PRAGMAS = [
  // SQLite writes complete pages, and rows are small.
  "PRAGMA page_size = 1024",
  // One process owns the file. Without locking in each transaction, writes are faster.
  "PRAGMA locking_mode = EXCLUSIVE",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = NORMAL",
  // Checkpoints wait for the disk; at 16 MiB they are rare.
  "PRAGMA wal_autocheckpoint = 16000",
];

/**
 * Opens a database file, or a private in-memory database for `:memory:`. Acknowledged writes are durable.
 * @throws {DatabaseUnusable}
 */
export function openDatabase(path: string): Database {
  return new DatabaseFile(path, PRAGMAS);
}

/** An SQL statement and its parameters. */
export interface Change {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** The changed columns of a row. Indexed and referencing columns cost more to write, and change rarely. */
export type ProviderChange = "generation" | "all";

export type ConsumerChange = "created" | "generation" | "owner" | "deleted";

export function providerChange(provider: Provider, what: ProviderChange): Change {
  const { id, name, generation, parent, root, updatedAt } = provider;
  return what === "generation"
    ? {
        sql: "UPDATE placement_resource_providers SET generation = ?, updated_at = ? WHERE id = ?",
        values: [generation, updatedAt, id],
      }
    : {
        sql: "UPDATE placement_resource_providers SET name = ?, generation = ?, parent_id = ?, root_id = ?, updated_at = ? WHERE id = ?",
        values: [name, generation, parent?.id ?? null, root.id, updatedAt, id],
      };
}

export function consumerChange(consumer: Consumer, what: ConsumerChange): Change {
  const { id, uuid, generation, project, user, type, createdAt } = consumer;
  switch (what) {
    case "created":
      return {
        sql: "INSERT INTO placement_consumers (id, uuid, generation, project_id, user_id, type_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)",
        values: [id, uuid, generation, project.id, user.id, type?.id ?? null, createdAt],
      };
    case "generation":
      return { sql: "UPDATE placement_consumers SET generation = ? WHERE id = ?", values: [generation, id] };
    case "owner":
      return {
        sql: "UPDATE placement_consumers SET generation = ?, project_id = ?, user_id = ?, type_id = ? WHERE id = ?",
        values: [generation, project.id, user.id, type?.id ?? null, id],
      };
    case "deleted":
      return { sql: "DELETE FROM placement_consumers WHERE id = ?", values: [id] };
  }
}

/**
 * Returns the changes of rows from a consumer's former to its current allocations. Existing rows are updated, which
 * touches no index.
 */
export function allocationChanges(consumer: Consumer, before: readonly Allocation[]): Change[] {
  const { id, allocations } = consumer;
  const changes: Change[] = [];
  for (const { inventory } of before) {
    if (allocations.some((each) => each.inventory === inventory)) {
      continue;
    }
    changes.push({
      sql: "DELETE FROM placement_allocations WHERE consumer_id = ? AND provider_id = ? AND class_id = ?",
      values: [id, inventory.provider.id, inventory.resourceClass.id],
    });
  }
  if (allocations.length === 0) {
    return changes;
  }
  const values: SqlValue[] = [];
  for (const { inventory, used, createdAt } of allocations) {
    values.push(id, inventory.provider.id, inventory.resourceClass.id, used, createdAt);
  }
  changes.push({ sql: ALLOCATIONS.sql(allocations.length), values });
  return changes;
}

/** Returns an upsert of inventories. */
export function inventoriesChange(inventories: readonly Inventory[]): Change {
  const values: SqlValue[] = [];
  for (const { provider, resourceClass, amounts, createdAt, updatedAt } of inventories) {
    const { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = amounts;
    values.push(provider.id, resourceClass.id, total, reserved, min_unit, max_unit, step_size, allocation_ratio);
    values.push(createdAt, updatedAt);
  }
  return { sql: INVENTORIES.sql(inventories.length), values };
}

/** Builds one statement for several rows: most of the cost is per statement. */
class Upsert {
  readonly #table: string;
  readonly #columns: readonly string[];
  readonly #tail: string;
  readonly #known = new Map<number, string>();

  constructor(table: string, key: readonly string[], others: readonly string[]) {
    this.#table = table;
    this.#columns = [...key, ...others];
    const set = others.map((column) => `${column} = excluded.${column}`).join(", ");
    this.#tail = `ON CONFLICT (${key.join(", ")}) DO UPDATE SET ${set}`;
  }

  sql(rows: number): string {
    const known = this.#known.get(rows);
    if (known !== undefined) {
      return known;
    }
    const row = `(${this.#columns.map(() => "?").join(", ")})`;
    const values = Array(rows).fill(row).join(", ");
    const made = `INSERT INTO ${this.#table} (${this.#columns.join(", ")}) VALUES ${values} ${this.#tail}`;
    this.#known.set(rows, made);
    return made;
  }
}

const ALLOCATIONS = new Upsert(
  "placement_allocations",
  ["consumer_id", "provider_id", "class_id"],
  ["used", "created_at"],
);

const INVENTORIES = new Upsert(
  "placement_inventories",
  ["provider_id", "class_id"],
  ["total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio", "created_at", "updated_at"],
);
