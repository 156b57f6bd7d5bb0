import type { Sql } from "../../database/sql.js";

/** Pairs of ids: members of groups, roles that imply others. */
export class PairTable {
  readonly #sql: Sql;
  readonly #table: string;
  readonly #left: string;
  readonly #right: string;
  readonly #changed: () => void;

  constructor(sql: Sql, table: string, columns: readonly [left: string, right: string], changed: () => void) {
    this.#sql = sql;
    this.#table = table;
    [this.#left, this.#right] = columns;
    this.#changed = changed;
  }

  all(): readonly (readonly [left: string, right: string])[] {
    const rows = this.#sql.all(`SELECT ${this.#left}, ${this.#right} FROM ${this.#table} ORDER BY rowid`);
    return rows.map(([left, right]) => [String(left), String(right)]);
  }

  rightOf(left: string): readonly string[] {
    const text = `SELECT ${this.#right} FROM ${this.#table} WHERE ${this.#left} = ? ORDER BY rowid`;
    return this.#sql.all(text, left).map(([right]) => String(right));
  }

  leftOf(right: string): readonly string[] {
    const text = `SELECT ${this.#left} FROM ${this.#table} WHERE ${this.#right} = ? ORDER BY rowid`;
    return this.#sql.all(text, right).map(([left]) => String(left));
  }

  has(left: string, right: string): boolean {
    return this.rightOf(left).includes(right);
  }

  add(left: string, right: string): void {
    this.#changed();
    this.#sql.run(`INSERT OR IGNORE INTO ${this.#table} VALUES (?, ?)`, left, right);
  }

  remove(left: string, right: string): void {
    this.#changed();
    this.#sql.run(`DELETE FROM ${this.#table} WHERE ${this.#left} = ? AND ${this.#right} = ?`, left, right);
  }

  /** All pairs of which the id is either side. */
  removeAll(id: string): void {
    this.#changed();
    this.#sql.run(`DELETE FROM ${this.#table} WHERE ${this.#left} = ? OR ${this.#right} = ?`, id, id);
  }
}
