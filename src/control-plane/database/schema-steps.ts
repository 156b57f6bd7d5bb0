import { DatabaseTooNew, DatabaseTooOld } from "./database-file.js";
import type { Sql } from "./sql.js";

/** One step of a schema. Once released it never changes; what must change is a further step. */
export interface SchemaStep {
  /** 1, 2, 3 … without gaps. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * Brings the tables of one component up to date: each missing step in a transaction of its own. The embedded Placement
 * keeps its tables in the same file as a component of its own.
 * @param now milliseconds since the epoch, for the record of applied steps.
 * @throws {DatabaseTooNew} the file was written by a newer program; nothing was changed.
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
 * For those who only read: the tables are as this program knows them.
 * @throws {DatabaseTooNew} @throws {DatabaseTooOld}
 */
export function requireSchema(sql: Sql, component: string, steps: readonly SchemaStep[]): void {
  const table = sql.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_steps'");
  if (table === undefined || versionOf(sql, component, steps) < (steps.at(-1)?.version ?? 0)) {
    throw new DatabaseTooOld(sql.file.path, component);
  }
}

/** @throws {DatabaseTooNew} */
function versionOf(sql: Sql, component: string, steps: readonly SchemaStep[]): number {
  const [found] = sql.get("SELECT max(version) FROM schema_steps WHERE component = ?", component) ?? [];
  const current = Number(found ?? 0);
  const known = steps.at(-1)?.version ?? 0;
  if (current > known) {
    throw new DatabaseTooNew(sql.file.path, component, current, known);
  }
  return current;
}
