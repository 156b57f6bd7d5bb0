import { ClusterError } from "../cluster-error.js";
import { DatabaseFile } from "../database/database-file.js";
import { Sql } from "../database/sql.js";
import { HttpError } from "../http/http-error.js";

interface CopyOptions {
  /** Patterns of the names of the copied tables: `network_*`. */
  readonly tables: readonly string[];
  /** Creates the present form of the tables; an older database has tables with fewer columns. */
  readonly createTables: (copy: Sql) => void;
}

/**
 * Runs `work` with a copy of some tables in memory: nothing that it changes is saved. The database may be read-only, and
 * older than this program.
 */
export function withCopy<T>(source: Sql, { tables, createTables }: CopyOptions, work: (copy: Sql) => T): T {
  const copy = new Sql(new DatabaseFile(":memory:", ["PRAGMA foreign_keys = ON"]));
  try {
    createTables(copy);
    copyTables(source, copy, tables);
    return work(copy);
  } finally {
    copy.file.close();
  }
}

function copyTables(source: Sql, copy: Sql, patterns: readonly string[]): void {
  const tables = source.all(
    `SELECT name, sql FROM sqlite_schema
      WHERE type = 'table' AND (${patterns.map(() => "name GLOB ?").join(" OR ")}) ORDER BY rowid`,
    ...patterns,
  );
  copy.transaction(() => {
    copy.run("PRAGMA defer_foreign_keys = ON");
    for (const [table, sql] of tables) {
      copyTable(source, copy, String(table), String(sql));
    }
  });
}

function copyTable(source: Sql, copy: Sql, table: string, sql: string): void {
  const columnsIn = (database: Sql) => database.strings("SELECT name FROM pragma_table_info(?)", table);
  if (columnsIn(copy).length === 0) {
    copy.file.exec(sql);
  }
  const known = new Set(columnsIn(copy));
  const columns = columnsIn(source).filter((column) => known.has(column));
  const names = columns.map((column) => `"${column}"`).join(", ");
  const insert = `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => "?").join(", ")})`;
  for (const row of source.all(`SELECT ${names} FROM ${table} ORDER BY rowid`)) {
    copy.execute(insert, ...row);
  }
}

/**
 * Runs a change for one key of the file.
 * @param key `networks.0.subnets.1 (web-subnet)`
 * @throws {ClusterError} `SeedRefused` with the key and the service's message
 */
export function forKey<T>(key: string, change: () => T): T {
  try {
    return change();
  } catch (error) {
    throw error instanceof HttpError ? new ClusterError("SeedRefused", `${key}: ${error.message}`) : error;
  }
}
