import type { Random } from "../../runtime/cryptography.js";
import { messageOf } from "../../runtime/error-messages.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import { isClusterError } from "../cluster-error.js";
import { DatabaseFile, databaseUnusable, fileFailure } from "../database/database-file.js";
import { applySchema, requireSchema } from "../database/schema-steps.js";
import { Sql } from "../database/sql.js";
import type { DefaultRatios } from "./compute-nodes.js";
import { STORE_SCHEMA } from "./schema/store-schema.js";
import { type Store, storeOn } from "./store.js";

export interface StoreOptions {
  /** A file (created with mode 0600), or `:memory:`. */
  readonly path: string;
  readonly runtime: {
    readonly clock: Clock;
    readonly random: Random;
    readonly files: Files;
    readonly logger: Logger;
  };
  /** Default: Nova's `initial_{cpu,ram,disk}_allocation_ratio`, 4.0 / 1.0 / 1.0. */
  readonly ratios?: Partial<DefaultRatios>;
}

const PRAGMAS = [
  "PRAGMA journal_mode = WAL",
  "PRAGMA synchronous = NORMAL",
  "PRAGMA foreign_keys = ON",
  // Checkpoints wait for the disk during a commit; at 16 MiB they are rare.
  "PRAGMA wal_autocheckpoint = 4000",
  // Fits the rows of ten thousand hosts; each page that is not cached costs a read from the file.
  "PRAGMA cache_size = -32768",
];

/** The settings of a read-only connection. */
const READER_PRAGMAS = ["PRAGMA query_only = ON"];

const MEMORY = ":memory:";

/**
 * Opens the database, or creates it, and migrates its schema.
 * @throws {DatabaseUnusable} if it is not a database, not accessible, or in use by another control plane
 * @throws {DatabaseTooNew} if a newer program wrote it
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, runtime } = options;
  let release = () => {};
  if (path !== MEMORY) {
    await makePrivate(path, runtime.files);
    release = await ownStore(path, runtime.files);
  }
  let file: DatabaseFile | undefined;
  const close = () => {
    file?.close();
    release();
  };
  try {
    file = new DatabaseFile(path, PRAGMAS);
    const sql = new Sql(file);
    applySchema(sql, "conductor", STORE_SCHEMA, runtime.clock.now());
    return storeOn(sql, options, close);
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Opens the database read-only, even while a control plane uses it. If the file does not exist, returns an empty
 * in-memory store.
 * @throws {DatabaseUnusable}
 * @throws {DatabaseTooNew}
 * @throws {DatabaseTooOld}
 */
export async function openStoreToRead(options: StoreOptions): Promise<Store> {
  if ((await options.runtime.files.stat(options.path)) === undefined) {
    return openStore({ ...options, path: MEMORY });
  }
  const file = new DatabaseFile(options.path, READER_PRAGMAS);
  try {
    const sql = new Sql(file, { isOwn: false });
    requireSchema(sql, "conductor", STORE_SCHEMA);
    return storeOn(sql, options, () => file.close());
  } catch (error) {
    file.close();
    throw error;
  }
}

/**
 * Creates the file with mode 0600: SQLite would make it readable for everyone. Its -wal and -shm files inherit the
 * mode.
 */
async function makePrivate(path: string, files: Files): Promise<void> {
  try {
    await files.create(path, "", { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw databaseUnusable(path, messageOf(error), { cause: error });
    }
  }
}

/**
 * Locks the database for this process: two control planes on one database would both distribute leases and messages.
 * This is a kernel lock on a separate file, which ends with the process. A lock on the database could not be released,
 * because SQLite retains a connection until its last statement is collected.
 * @returns a release function
 * @throws {DatabaseUnusable} if another process has the lock
 */
export async function ownStore(path: string, files: Files): Promise<() => void> {
  await makePrivate(`${path}.lock`, files);
  const lock = new DatabaseFile(`${path}.lock`);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw isClusterError(error, "DatabaseUnusable") ? fileFailure(path, error.cause) : error;
  }
  return () => {
    lock.exec("ROLLBACK");
    lock.close();
  };
}
