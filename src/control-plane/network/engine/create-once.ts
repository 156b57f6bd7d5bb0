import type { NetworkContext } from "./network-context.js";

/** Names of records that were created once. They are not created again when a user deletes them. */
export const CREATED_ONCE_TABLE = "CREATE TABLE IF NOT EXISTS network_created_once (name TEXT PRIMARY KEY) STRICT";

/** Runs a function once in the lifetime of the database. Callers run it in a transaction. */
export function createOnce({ sql }: NetworkContext, name: string, create: () => void): void {
  if (sql.get("SELECT 1 FROM network_created_once WHERE name = ?", name) === undefined) {
    sql.execute("INSERT INTO network_created_once VALUES (?)", name);
    create();
  }
}
