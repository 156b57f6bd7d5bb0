import type { Database, Statement } from "../../../../../src/control-plane/placement/store/database.js";

/** Fails for matching statements, as a full disk would. */
export class FailingDatabase implements Database {
  readonly #inner: Database;
  failing: RegExp | undefined;
  /** The SQL of executed statements. */
  readonly ran: string[] = [];

  constructor(inner: Database) {
    this.#inner = inner;
  }

  get path(): string {
    return this.#inner.path;
  }

  get inTransaction(): boolean {
    return this.#inner.inTransaction;
  }

  prepare(sql: string): Statement {
    const statement = this.#inner.prepare(sql);
    return {
      execute: (...values) => {
        if (this.failing?.test(sql)) {
          throw new Error("database or disk is full");
        }
        this.ran.push(sql);
        statement.execute(...values);
      },
      all: (...values) => statement.all(...values),
    };
  }

  exec(sql: string): unknown {
    return this.#inner.exec(sql);
  }

  close(): unknown {
    return this.#inner.close();
  }
}
