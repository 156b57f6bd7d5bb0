import { DatabaseFile, type SqlValue } from "../../database/database-file.js";

export type { SqlValue };

export interface Statement {
  execute(...values: SqlValue[]): void;
  all(...values: SqlValue[]): unknown[];
}

/** The part of a SQLite connection that Placement uses. Its tables are prefixed, so that the file may hold others. */
export interface Database {
  readonly path: string;
  /** False also after a failure with which the engine has ended the transaction by itself, as on a full disk. */
  readonly inTransaction: boolean;
  prepare(sql: string): Statement;
  exec(sql: string): unknown;
  close(): unknown;
}

const PRAGMAS = [
  // Rows are small, and what is written is whole pages.
  "PRAGMA page_size = 1024",
  // One process owns the file; one that takes and gives back no locks in each transaction writes sooner.
  "PRAGMA locking_mode = EXCLUSIVE",
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = NORMAL",
  // Checkpoints wait for the disk; with 16 MiB between them they are seldom.
  "PRAGMA wal_autocheckpoint = 16000",
];

/**
 * Opens a database file, or a private one in memory for `:memory:`; set up so that an acknowledged write lasts.
 * @throws {DatabaseUnusable}
 */
export function openDatabase(path: string): Database {
  return new DatabaseFile(path, PRAGMAS);
}
