import Libsql from "libsql";
import { fileFailure } from "./database-errors.js";

/** A value as SQLite keeps it. libsql aborts the process when it is handed anything else, so nothing else may pass. */
export type SqlValue = string | number | null;

/** Milliseconds to wait for a process that is just ending. */
const BUSY_TIMEOUT = 500;

/**
 * An SQLite file, or `:memory:`, opened. What its engine says of the file itself (full disk, damage, another owner) is
 * thrown as {@link DatabaseUnusable}, wherever it comes up; everything else as it is.
 */
export class DatabaseFile {
  readonly path: string;
  readonly #handle: Libsql.Database;

  /** @param pragmas statements that configure the connection. @throws {DatabaseUnusable} */
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
  /** It has run, or failed, in a way that leaves it where it ended: of what can begin it anew, with other values, only `run` does so. */
  #isLeft = false;

  constructor(path: string, statement: Libsql.Statement<unknown[]>) {
    this.#path = path;
    this.#statement = statement;
  }

  /** From now on rows come as lists of columns. */
  raw(): this {
    this.#statement.raw();
    return this;
  }

  run(...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number | bigint } {
    this.#isLeft = true;
    return guarded(this.#path, () => this.#statement.run(values));
  }

  /** Runs a statement without rows. Not to ask what it has changed saves a third of a small one. */
  execute(...values: SqlValue[]): void {
    if (this.#isLeft) {
      this.run(...values);
      return;
    }
    this.#isLeft = true;
    guarded(this.#path, () => this.#statement.get(values));
    this.#isLeft = false;
  }

  get(...values: SqlValue[]): unknown {
    return guarded(this.#path, () => this.#statement.get(values));
  }

  all(...values: SqlValue[]): unknown[] {
    return guarded(this.#path, () => this.#statement.all(values));
  }
}

function guarded<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw fileFailure(path, error);
  }
}
