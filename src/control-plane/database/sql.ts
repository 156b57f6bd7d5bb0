import Database from "libsql";
import { ConductorError } from "../../conductor-client/errors.js";
import type { DatabaseFile, FileStatement, SqlValue } from "./database-file.js";

export type SqlRow = readonly SqlValue[];

/**
 * The max number of cached prepared statements. Without it, updates of arbitrary sets of columns would grow the cache
 * without limit.
 */
const PREPARED_STATEMENTS = 400;

/** Runs SQL on one connection: prepared statements, nested transactions, and actions after the commit. */
export class Sql {
  /** The database, for services that have separate tables in the same file. */
  readonly file: DatabaseFile;
  /** No other process writes to the database. */
  readonly isOwn: boolean;
  readonly #readers = new Map<string, FileStatement>();
  readonly #writers = new Map<string, FileStatement>();
  #depth = 0;
  /** The number of open nested transactions that are covered by a savepoint; inner ones have not written yet. */
  #saved = 0;
  /**
   * The levels that created a savepoint. If a level has not written before an inner level writes, both share that
   * savepoint.
   */
  readonly #savepoints: number[] = [];
  /** In `batch`: no savepoints are created. */
  #isBatch = false;
  /** In a batch, a nested transaction has failed after it had written something. */
  #isTorn = false;
  #writes = 0;
  #afterCommit: (() => void)[] = [];
  readonly #onUndo: ((isComplete: boolean) => void)[] = [];

  constructor(file: DatabaseFile, { isOwn = true }: { readonly isOwn?: boolean } = {}) {
    this.file = file;
    this.isOwn = isOwn;
  }

  /** Returns the first row as an array of columns. */
  get(text: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.#reader(text).get(...values) as SqlRow | undefined;
  }

  all(text: string, ...values: SqlValue[]): SqlRow[] {
    return this.#reader(text).all(...values) as SqlRow[];
  }

  /** Returns the number in the first column of the first row; 0 if there is no row. */
  number(text: string, ...values: SqlValue[]): number {
    return Number(this.get(text, ...values)?.[0] ?? 0);
  }

  /** Returns the first column of all rows as strings. */
  strings(text: string, ...values: SqlValue[]): string[] {
    return this.all(text, ...values).map(([value]) => String(value));
  }

  /**
   * Runs a statement without rows; returns the number of changed rows and the id of the inserted row.
   * @throws {DuplicateRecord} for a violated unique index; `data.index` names its columns
   * @throws {InvalidParameters} for another violated constraint
   */
  run(text: string, ...values: SqlValue[]): { readonly changes: number; readonly id: number } {
    this.#save();
    try {
      const { changes, lastInsertRowid } = this.#writer(text).run(...values);
      this.#writes += 1;
      return { changes, id: Number(lastInsertRowid) };
    } catch (error) {
      throw translate(error);
    }
  }

  /** Like {@link run}, but without the number of changes, which saves a third of a small statement's time. */
  execute(text: string, ...values: SqlValue[]): void {
    this.#save();
    try {
      this.#writer(text).execute(...values);
      this.#writes += 1;
    } catch (error) {
      throw translate(error);
    }
  }

  /** Runs `work` as a transaction. A nested one is rolled back alone if `work` throws. */
  transaction<T>(work: () => T): T {
    const level = this.#depth;
    const queued = this.#afterCommit.length;
    const written = this.#writes;
    if (level === 0) {
      this.#control("BEGIN IMMEDIATE");
    }
    this.#depth += 1;
    let result: T;
    try {
      result = work();
      this.#end(level);
    } catch (error) {
      this.#afterCommit.length = queued;
      if (level > 0 && this.#isBatch) {
        this.#isTorn ||= this.#writes > written;
      } else {
        this.#undo(level);
      }
      throw error;
    } finally {
      this.#depth = level;
      this.#isBatch &&= level > 0;
    }
    if (level === 0) {
      this.#flush();
    }
    return result;
  }

  /**
   * Runs `work` as a transaction whose nested transactions rarely fail: their savepoints would be a quarter of all
   * statements.
   * If a nested transaction throws after a write, everything is rolled back, and `work` runs again with savepoints. It
   * must change nothing but the database and the actions after the commit.
   */
  batch<T>(work: () => T): T {
    if (this.#depth > 0) {
      return this.transaction(work);
    }
    this.#isBatch = true;
    try {
      return this.transaction(work);
    } catch (error) {
      const isTorn = this.#isTorn;
      this.#isTorn = false;
      // Still set if the transaction could not begin.
      this.#isBatch = false;
      if (!isTorn) {
        throw error;
      }
    }
    return this.transaction(work);
  }

  /**
   * Runs `action` after the current transaction is committed, or immediately if there is none. A rollback discards it.
   */
  afterCommit(action: () => void): void {
    if (this.#depth === 0) {
      action();
    } else {
      this.#afterCommit.push(action);
    }
  }

  /** Runs `action` before each rollback of a transaction, which is complete, or of a nested one. */
  onUndo(action: (isComplete: boolean) => void): void {
    this.#onUndo.push(action);
  }

  /**
   * Creates a missing savepoint before a write. Savepoints are lazy: one costs as much as a small write, and most
   * nested transactions write nothing, or are not inside another write.
   */
  #save(): void {
    const level = this.#depth - 1;
    if (level > this.#saved && !this.#isBatch) {
      const first = this.#saved + 1;
      this.#control(`SAVEPOINT level_${first}`);
      this.#savepoints.push(first);
      this.#saved = level;
    }
  }

  #end(level: number): void {
    if (this.#isTorn) {
      throw TORN;
    }
    if (level === 0) {
      this.#control("COMMIT");
    } else if (this.#savepoints.at(-1) === level) {
      this.#control(`RELEASE level_${level}`);
      this.#savepoints.pop();
    }
    this.#saved = Math.min(this.#saved, Math.max(0, level - 1));
  }

  #undo(level: number): void {
    for (const action of this.#onUndo) {
      action(level === 0);
    }
    // After some errors, such as a full disk, SQLite has already rolled back the transaction.
    if (this.file.inTransaction && level === 0) {
      this.#control("ROLLBACK");
    } else if (this.file.inTransaction && level <= this.#saved) {
      this.#control(`ROLLBACK TO level_${this.#savepoints.at(-1)}`);
    }
    if (this.#savepoints.at(-1) === level) {
      if (this.file.inTransaction) {
        this.#control(`RELEASE level_${level}`);
      }
      this.#savepoints.pop();
    }
    if (level === 0) {
      this.#savepoints.length = 0;
    }
    this.#saved = Math.min(this.#saved, Math.max(0, level - 1));
  }

  #control(text: string): void {
    this.#writer(text).execute();
  }

  #flush(): void {
    const actions = this.#afterCommit;
    this.#afterCommit = [];
    for (const action of actions) {
      action();
    }
  }

  #reader(text: string): FileStatement {
    return prepared(this.#readers, text, () => this.file.prepare(text).raw());
  }

  #writer(text: string): FileStatement {
    return prepared(this.#writers, text, () => this.file.prepare(text));
  }
}

/** Aborts a batch that runs again. */
const TORN = new Error("a part of the transaction failed after it had written something");

function prepared(cache: Map<string, FileStatement>, text: string, prepare: () => FileStatement): FileStatement {
  const known = cache.get(text);
  if (known) {
    return known;
  }
  if (cache.size >= PREPARED_STATEMENTS) {
    const [oldest] = cache.keys();
    cache.delete(oldest ?? "");
  }
  const statement = prepare();
  cache.set(text, statement);
  return statement;
}

function translate(error: unknown): unknown {
  if (!(error instanceof Database.SqliteError)) {
    return error;
  }
  const [rule = "", detail = ""] = error.message.split(" constraint failed: ");
  if (rule === "UNIQUE") {
    return new ConductorError("DuplicateRecord", `a record with the same ${detail} exists already`, { index: detail });
  }
  if (error.code.startsWith("SQLITE_CONSTRAINT") || error.rawCode === SQLITE_CONSTRAINT_DATATYPE) {
    return new ConductorError("InvalidParameters", `the database rejected the change: ${error.message}`, {
      rule: error.message,
    });
  }
  return error;
}

const SQLITE_CONSTRAINT_DATATYPE = 3091;
