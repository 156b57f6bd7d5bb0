import Libsql from "libsql";

/** A value as SQLite keeps it. */
export type SqlValue = string | number | null;

export interface Statement {
  run(...values: SqlValue[]): unknown;
  all(...values: SqlValue[]): unknown[];
}

/** The part of a SQLite connection that Placement uses. Its tables are prefixed, so that the file may hold others. */
export interface Database {
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): unknown;
}

/** Opens a database file, or a private one in memory for `:memory:`; set up so that an acknowledged write lasts. */
export function openDatabase(path: string): Database {
  const database = new Libsql(path);
  // Rows are small, and what is written is whole pages.
  database.exec("PRAGMA page_size = 1024");
  // One process owns the file; one that takes and gives back no locks in each transaction writes sooner.
  database.exec("PRAGMA locking_mode = EXCLUSIVE");
  database.exec("PRAGMA journal_mode = WAL");
  database.exec("PRAGMA synchronous = NORMAL");
  // Checkpoints wait for the disk; with 16 MiB between them they are seldom.
  database.exec("PRAGMA wal_autocheckpoint = 16000");
  return database;
}
