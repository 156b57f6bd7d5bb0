import Libsql from "libsql";
import { ClusterError, isClusterError } from "../cluster-error.js";

/** Describes how to select another database; part of several error messages. */
const ELSEWHERE = "select another one with --state-dir (compute-agent placement: --database)";

/** @param reason the problem and its solution */
export function databaseUnusable(path: string, reason: string, options?: ErrorOptions): ClusterError {
  return new ClusterError("DatabaseUnusable", `the database ${path} cannot be used: ${reason}`, options);
}

/** @param component the owner of tables that have version `found`; this program supports versions up to `known` */
export function databaseTooNew(path: string, component: string, found: number, known: number): ClusterError {
  return new ClusterError(
    "DatabaseTooNew",
    `the database ${path} has version ${found} of the ${component} tables, but this program supports only versions up to ${known}: ` +
      `start the newer program again, or ${ELSEWHERE}`,
  );
}

/** Explanations of SQLite's primary result codes that concern the file and not the statement. */
const FILE_CODES: ReadonlyMap<number, string> = new Map([
  [
    5,
    'another control plane or Placement is using it; stop that process, or select another cluster with "--name NAME --port 0" ' +
      "(compute-agent placement: another --database). compute-agent down stops a cluster",
  ],
  [8, `it is not writable; give this user write permission, or ${ELSEWHERE}`],
  [10, "disk I/O error: its disk is full or broken; free space or check the disk, then start again"],
  [
    11,
    `it is damaged; replace it by a backup, move it and its -wal file away to start with an empty database, or ${ELSEWHERE}`,
  ],
  [13, "its disk is full; free space, then start again"],
  [14, `its folder is missing or not writable, or the path is a folder; ${ELSEWHERE}`],
  [26, `it is not an SQLite database; move it and its -wal file away to start with an empty database, or ${ELSEWHERE}`],
]);

/** An error of opening the file contains its code only at the end of its message. */
const OPEN_FAILURE = /^ConnectionFailed\(.*: (\d+)"\)$/s;

/** A value as SQLite stores it. */
export type SqlValue = string | number | null;

/** Milliseconds to wait for another process that is exiting. */
const BUSY_TIMEOUT = 500;

/**
 * An open SQLite file, or `:memory:`. Errors that concern the file itself (full disk, damage, another owner) are thrown
 * as `DatabaseUnusable` by all methods; other errors unchanged.
 */
export class DatabaseFile {
  readonly path: string;
  readonly #handle: Libsql.Database;

  /**
   * @param pragmas statements that configure the connection
   * @throws {DatabaseUnusable}
   */
  constructor(path: string, pragmas: readonly string[] = []) {
    this.path = path;
    this.#handle = guarded(path, () => new Libsql(path, { timeout: BUSY_TIMEOUT }));
    try {
      for (const pragma of pragmas) {
        this.exec(pragma);
      }
    } catch (error) {
      this.#handle.close();
      throw error;
    }
  }

  get inTransaction(): boolean {
    return this.#handle.inTransaction;
  }

  prepare(text: string): FileStatement {
    return guarded(this.path, () => new FileStatement(this.path, this.#handle.prepare(text)));
  }

  exec(text: string): void {
    guarded(this.path, () => this.#handle.exec(text));
  }

  close(): void {
    this.#handle.close();
  }
}

export class FileStatement {
  readonly #path: string;
  readonly #statement: Libsql.Statement<unknown[]>;
  /** The last execution left the statement without a reset. Only `run` resets it before it binds new values. */
  #isLeft = false;

  constructor(path: string, statement: Libsql.Statement<unknown[]>) {
    this.#path = path;
    this.#statement = statement;
  }

  /** Makes the statement return rows as arrays of columns. */
  raw(): this {
    this.#statement.raw();
    return this;
  }

  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint } {
    assertStorable(values);
    this.#isLeft = true;
    return guarded(this.#path, () => this.#statement.run(values));
  }

  /**
   * Runs a statement without rows. Saves a third of a small statement's time, because it does not read the number of
   * changes.
   */
  execute(...values: SqlValue[]): void {
    if (this.#isLeft) {
      this.run(...values);
      return;
    }
    assertStorable(values);
    this.#isLeft = true;
    guarded(this.#path, () => this.#statement.get(values));
    this.#isLeft = false;
  }

  get(...values: SqlValue[]): unknown {
    assertStorable(values);
    return guarded(this.#path, () => this.#statement.get(values));
  }

  all(...values: SqlValue[]): unknown[] {
    assertStorable(values);
    return guarded(this.#path, () => this.#statement.all(values));
  }
}

/** A value does not fit its column, or SQLite cannot store it. If it comes from a request, the request is wrong. */
export class UnstorableValue extends TypeError {
  override readonly name = "UnstorableValue";
}

/**
 * Rejects values that libsql cannot bind: it aborts the process for a boolean.
 * @throws {UnstorableValue}
 */
function assertStorable(values: readonly unknown[]): void {
  for (const value of values) {
    const type = typeof value;
    if (type !== "string" && type !== "number" && value !== null) {
      throw new UnstorableValue(`SQLite stores strings, numbers and null, not ${type}`);
    }
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(path, error);
  }
}

/** Converts an error that concerns the file to `DatabaseUnusable`; returns other errors unchanged. */
export function fileFailure(path: string, error: unknown): unknown {
  if (!(error instanceof Error) || isClusterError(error, "DatabaseUnusable")) {
    return error;
  }
  const { rawCode } = error as { readonly rawCode?: unknown };
  const code = Number(rawCode ?? OPEN_FAILURE.exec(error.message)?.[1]);
  // An extended result code contains the primary one in its low byte.
  const meaning = FILE_CODES.get(code & 0xff);
  return meaning === undefined ? error : databaseUnusable(path, meaning, { cause: error });
}
