import Database from "libsql";
import { DuplicateRecord, InvalidParameters } from "../../conductor-client/errors.js";
import type { DatabaseFile, FileStatement, SqlValue } from "./database-file.js";

export type SqlRow = readonly SqlValue[];

/** Statements that stay prepared; updates of arbitrary sets of columns would otherwise grow without end. */
const PREPARED_STATEMENTS = 400;

/** Runs SQL on one connection: prepared statements, nested transactions, and work to do after the commit. */
export class Sql {
  /** The database, for services that keep tables of their own in the same file. */
  readonly file: DatabaseFile;
  /** Nobody else writes to the database. */
  readonly isOwn: boolean;
  readonly #readers = new Map<string, FileStatement>();
  readonly #writers = new Map<string, FileStatement>();
  #depth = 0;
  /** How many of the nested transactions that are open have a savepoint; the others have written nothing. */
  #saved = 0;
  /** The levels that made a savepoint. A level that wrote nothing before the first write of a level inside it shares that one's. */
  readonly #savepoints: number[] = [];
  /** In `together`: savepoints are not made. */
  #isBatch = false;
  /** A part of what is done together has failed after it had written something. */
  #isTorn = false;
  #writes = 0;
  #afterCommit: (() => void)[] = [];
  readonly #onUndo: (() => void)[] = [];

  constructor(file: DatabaseFile, { isOwn = true }: { readonly isOwn?: boolean } = {}) {
    this.file = file;
    this.isOwn = isOwn;
  }

  /** The first row as a list of columns. */
  get(text: string, ...values: SqlValue[]): SqlRow | undefined {
    return this.#reader(text).get(...values) as SqlRow | undefined;
  }

  all(text: string, ...values: SqlValue[]): SqlRow[] {
    return this.#reader(text).all(...values) as SqlRow[];
  }

  /**
   * A statement without rows; how many it changed, and the id of the row that it inserted.
   * @throws {DuplicateRecord} a unique index refused; `data.index` names its columns.
   * @throws {InvalidParameters} another rule of the database refused.
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

  /** As {@link run}, where nobody asks what it changed: to say that takes a third of a small statement. */
  execute(text: string, ...values: SqlValue[]): void {
    this.#save();
    try {
      this.#writer(text).execute(...values);
      this.#writes += 1;
    } catch (error) {
      throw translate(error);
    }
  }

  /** One transaction; inside another one a part of it that is undone alone when `work` throws. */
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
   * One transaction whose parts are seldom undone: a savepoint for each would be a quarter of its statements. When a part throws that
   * has written something, all is undone, and `work` is run again, with savepoints. It changes nothing but the database, and what
   * is queued for after the commit.
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
      // A transaction that could not even begin has left it set.
      this.#isBatch = false;
      if (!isTorn) {
        throw error;
      }
    }
    return this.transaction(work);
  }

  /** Runs `action` when the open transaction has been committed; not at all when it is undone; at once without one. */
  afterCommit(action: () => void): void {
    if (this.#depth === 0) {
      action();
    } else {
      this.#afterCommit.push(action);
    }
  }

  /** Runs `action` each time that a transaction, or a part of one, is undone. */
  onUndo(action: () => void): void {
    this.#onUndo.push(action);
  }

  /** Before a write. A savepoint costs as much as a small write, and most that is nested writes nothing, or writes alone. */
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
      action();
    }
    // On a full disk and the like SQLite has ended the whole transaction by itself.
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

  /** Begins and ends transactions, and parts of them. */
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

/** Ends a transaction that is run again. */
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
    return new DuplicateRecord(`there is already a record with the same ${detail}`, { index: detail });
  }
  if (error.code.startsWith("SQLITE_CONSTRAINT") || error.rawCode === SQLITE_CONSTRAINT_DATATYPE) {
    return new InvalidParameters(`the state of record refused the change: ${error.message}`, { rule: error.message });
  }
  return error;
}

const SQLITE_CONSTRAINT_DATATYPE = 3091;
