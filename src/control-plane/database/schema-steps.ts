import { ClusterError } from "../cluster-error.js";
import { databaseTooNew } from "./database-file.js";
import type { Sql } from "./sql.js";

/** A migration of a schema. A released one never changes; further changes need a new one. */
export interface SchemaStep {
  /** 1, 2, 3 … without gaps. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * Migrates the tables of one component; each missing version in a separate transaction. One file can contain several
 * components, such as the embedded Placement.
 * @param now milliseconds since the epoch, recorded with each applied version
 * @throws {DatabaseTooNew} if a newer program wrote the file; nothing was changed
 */
export function applySchema(sql: Sql, component: string, steps: readonly SchemaStep[], now: number): void {
  sql.run(
    `CREATE TABLE IF NOT EXISTS schema_steps (
       component TEXT NOT NULL, version INTEGER NOT NULL, name TEXT NOT NULL, applied_at INTEGER NOT NULL,
       PRIMARY KEY (component, version)
     ) STRICT`,
  );
  const current = versionOf(sql, component, steps);
  for (const step of steps.filter(({ version }) => version > current)) {
    sql.transaction(() => {
      sql.file.exec(step.sql);
      sql.run("INSERT INTO schema_steps VALUES (?, ?, ?, ?)", component, step.version, step.name, now);
    });
  }
}

/**
 * Checks that the tables have the version that this program expects, for read-only connections.
 * @throws {DatabaseTooNew}
 * @throws {DatabaseTooOld}
 */
export function requireSchema(sql: Sql, component: string, steps: readonly SchemaStep[]): void {
  const table = sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_steps'");
  if (table === undefined || versionOf(sql, component, steps) < (steps.at(-1)?.version ?? 0)) {
    const message = `the database ${sql.file.path} has no ${component} tables, or those of an older program`;
    throw new ClusterError("DatabaseTooOld", `${message}; start the cluster once to migrate them`);
  }
}

/** @throws {DatabaseTooNew} */
function versionOf(sql: Sql, component: string, steps: readonly SchemaStep[]): number {
  const [found] = sql.get("SELECT max(version) FROM schema_steps WHERE component = ?", component) ?? [];
  const current = Number(found ?? 0);
  const known = steps.at(-1)?.version ?? 0;
  if (current > known) {
    throw databaseTooNew(sql.file.path, component, current, known);
  }
  return current;
}
