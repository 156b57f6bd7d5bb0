import Database from "libsql";
import type { Clock } from "../../runtime/clock.js";
import { FileFailure, type Files } from "../../runtime/files.js";
import type { Logger } from "../../runtime/logger.js";
import type { Random } from "../../runtime/random.js";
import { Actions } from "./actions.js";
import { Changes } from "./changes.js";
import { ComputeNodes, type DefaultRatios } from "./compute-nodes.js";
import { Flavors } from "./flavors.js";
import { Instances } from "./instances.js";
import { Leases } from "./leases.js";
import { Mappings } from "./mappings.js";
import { Messages } from "./messages.js";
import { Migrations } from "./migrations.js";
import { Requests } from "./requests.js";
import { applySchema } from "./schema/apply-schema.js";
import { STORE_SCHEMA } from "./schema/index.js";
import { Services } from "./services.js";
import { type DatabaseHandle, Sql } from "./sql.js";
import type { Store } from "./store.js";
import { StoreUnusable } from "./store-errors.js";
import { Tasks } from "./tasks.js";

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

const INITIAL_RATIOS: DefaultRatios = { cpuAllocationRatio: 4, ramAllocationRatio: 1, diskAllocationRatio: 1 };

/** Milliseconds to wait for a control plane that is just ending. */
const BUSY_TIMEOUT = 2_000;

const MEMORY = ":memory:";

/**
 * Opens the state of record, or makes a new one, and brings its schema up to date.
 * @throws {StoreUnusable} not a database, not accessible, or in use by another control plane.
 * @throws {StoreTooNew} written by a newer program.
 */
export async function openStore(options: StoreOptions): Promise<Store> {
  const { path, runtime } = options;
  if (path !== MEMORY) {
    await makePrivate(path, runtime.files);
  }
  const sql = new Sql(connect(path));
  try {
    applySchema(sql, "conductor", STORE_SCHEMA, runtime.clock.now());
  } catch (error) {
    sql.handle.close();
    throw error;
  }
  return assemble(sql, options);
}

function assemble(sql: Sql, { runtime, ratios }: StoreOptions): Store {
  const changes = new Changes(sql, runtime.logger);
  const context = { sql, clock: runtime.clock, random: runtime.random, changes };
  return {
    services: new Services(context),
    computeNodes: new ComputeNodes(context, { ...INITIAL_RATIOS, ...ratios }),
    instances: new Instances(context),
    migrations: new Migrations(context),
    flavors: new Flavors(context),
    actions: new Actions(context),
    requests: new Requests(context),
    mappings: new Mappings(context),
    tasks: new Tasks(context),
    messages: new Messages(context),
    leases: new Leases(context),
    database: sql,
    transaction: (work) => sql.transaction(work),
    onChange: (listener) => changes.listen(listener),
    close: () => sql.handle.close(),
  };
}

/** The engine would create the file readable for everyone; its companions (-wal, -shm) take over the mode. */
async function makePrivate(path: string, files: Files): Promise<void> {
  try {
    await files.create(path, "", { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "EEXIST")) {
      throw new StoreUnusable(path, error instanceof Error ? error.message : String(error), { cause: error });
    }
  }
}

function connect(path: string): DatabaseHandle {
  let handle: DatabaseHandle | undefined;
  try {
    handle = new Database(path, { timeout: BUSY_TIMEOUT });
    // Exclusive: two control planes on one file would each hand out leases and messages.
    handle.exec("PRAGMA locking_mode = EXCLUSIVE");
    handle.exec("PRAGMA journal_mode = WAL");
    handle.exec("PRAGMA synchronous = NORMAL");
    handle.exec("PRAGMA foreign_keys = ON");
    handle.exec("BEGIN IMMEDIATE; COMMIT");
    return handle;
  } catch (error) {
    handle?.close();
    throw new StoreUnusable(path, reasonOf(error), { cause: error });
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  if (code === "SQLITE_BUSY") {
    return "another control plane uses it; stop that one, or name another state directory with --state-dir";
  }
  if (code === "SQLITE_NOTADB") {
    return "it is not an SQLite database; move it away, or name another state directory with --state-dir";
  }
  return message;
}
