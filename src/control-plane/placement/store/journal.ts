import type { ChangedRows, TouchedRecords } from "./changed-rows.js";
import type { Database, SqlValue, Statement } from "./database.js";
import type { Change } from "./row-changes.js";

/** Where a unit of work leaves what it has changed. */
export interface Sink {
  /**
   * @param undo takes the changes back in memory, the last one first
   * @throws nothing has been taken
   */
  take(rows: ChangedRows, undo: readonly (() => void)[]): void;
}

/** Writes to the database at once; prepares each statement at its first use. */
export class Journal implements Sink {
  readonly #database: Database;
  readonly #statements = new Map<string, Statement>();
  readonly #listeners = new Set<(touched: TouchedRecords) => void>();

  constructor(database: Database) {
    this.#database = database;
  }

  take(rows: ChangedRows): void {
    if (!rows.empty) {
      this.write(rows.statements());
      this.#notify(rows);
    }
  }

  /** Calls the listener, which must not throw, after each transaction, until what is returned is called. */
  onWritten(listener: (touched: TouchedRecords) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Runs all changes in one transaction, or none. */
  write(changes: readonly Change[]): void {
    this.#run("BEGIN IMMEDIATE", []);
    try {
      for (const { sql, values } of changes) {
        this.#run(sql, values);
      }
      this.#run("COMMIT", []);
    } catch (error) {
      if (this.#database.inTransaction) {
        this.#database.exec("ROLLBACK");
      }
      throw error;
    }
  }

  #notify(rows: ChangedRows): void {
    if (this.#listeners.size > 0) {
      const { touched } = rows;
      for (const listener of this.#listeners) {
        listener(touched);
      }
    }
  }

  #run(sql: string, values: readonly SqlValue[]): void {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    statement.execute(...values);
  }
}
