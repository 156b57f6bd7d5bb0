import type { Random } from "../../runtime/cryptography.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { Logger } from "../../runtime/runtime.js";
import type { Clock } from "../../runtime/time.js";
import { DatabaseFile, DatabaseUnusable, fileFailure } from "../database/database-file.js";
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
  // Checkpoints wait for the disk, in the middle of a commit; with 16 MiB between them they are seldom.
  "PRAGMA wal_autocheckpoint = 4000",
  // The rows of ten thousand hosts: a page that is not at hand is read from the file again, by a call of the system.
  "PRAGMA cache_size = -32768",
];

/** A connection that only looks has these: nothing that it does can change the file. */
const READER_PRAGMAS = ["PRAGMA query_only = ON"];

const MEMORY = ":memory:";

/**
 * Opens the state of record, or makes a new one, and brings its schema up to date.
 * @throws {DatabaseUnusable} not a database, not accessible, or in use by another control plane.
 * @throws {DatabaseTooNew} written by a newer program.
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
 * Opens the state of record to read it, also while a control plane has it. A file that is not there is an empty state of record,
 * which is not kept. @throws {DatabaseUnusable} @throws {DatabaseTooNew} @throws {DatabaseTooOld}
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

/** The engine would create the file readable for everyone; its companions (-wal, -shm) take over the mode. */
async function makePrivate(path: string, files: Files): Promise<void> {
  try {
    await files.create(path, "", { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw new DatabaseUnusable(path, error instanceof Error ? error.message : String(error), { cause: error });
    }
  }
}

/**
 * Makes this process the only owner of the file: two control planes on one would each hand out leases and messages. The lock
 * is the kernel's, on a file beside it, and ends with the process; the database's own could not be given back, because the
 * engine keeps a connection until its last statement has been collected.
 * @returns what gives it back. @throws {DatabaseUnusable} another process has it.
 */
export async function ownStore(path: string, files: Files): Promise<() => void> {
  await makePrivate(`${path}.lock`, files);
  const lock = new DatabaseFile(`${path}.lock`);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    throw error instanceof DatabaseUnusable ? fileFailure(path, error.cause) : error;
  }
  return () => {
    lock.exec("ROLLBACK");
    lock.close();
  };
}
