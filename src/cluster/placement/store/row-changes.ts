import type { Allocation, Consumer, Inventory, Provider } from "../model/records.js";
import type { SqlValue } from "./database.js";

/** A statement with its values. */
export interface Change {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/** What of a row has changed. Columns that are indexed or refer to others cost more, and change rarely. */
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

/** From what a consumer had to what it has. Rows that stay are updated, which touches no index. */
export function allocationChanges(consumer: Consumer, before: readonly Allocation[]): Change[] {
  const { id, allocations } = consumer;
  const changes: Change[] = [];
  const kept = new Map<Inventory, Allocation>();
  for (const allocation of allocations) kept.set(allocation.inventory, allocation);
  const had = new Set<Inventory>();
  for (const { inventory } of before) {
    had.add(inventory);
    const now = kept.get(inventory);
    const where = "WHERE consumer_id = ? AND provider_id = ? AND class_id = ?";
    const key = [id, inventory.provider.id, inventory.resourceClass.id];
    if (now === undefined) changes.push({ sql: `DELETE FROM placement_allocations ${where}`, values: key });
    else {
      const sql = `UPDATE placement_allocations SET used = ?, created_at = ? ${where}`;
      changes.push({ sql, values: [now.used, now.createdAt, ...key] });
    }
  }
  const added = allocations.filter(({ inventory }) => !had.has(inventory));
  if (added.length > 0) {
    changes.push({
      sql: `INSERT INTO placement_allocations (consumer_id, provider_id, class_id, used, created_at) VALUES ${Array(added.length).fill("(?, ?, ?, ?, ?)").join(", ")}`,
      values: added.flatMap(({ inventory, used, createdAt }) => [
        id,
        inventory.provider.id,
        inventory.resourceClass.id,
        used,
        createdAt,
      ]),
    });
  }
  return changes;
}
