import type { SqlValue } from "./codec.js";

/** Conditions that are joined with AND; an absent value adds none. */
export class Conditions {
  readonly #parts: string[] = [];
  readonly values: SqlValue[] = [];

  /** Adds a fixed piece of SQL with its values. */
  add(sql: string, ...values: SqlValue[]): this {
    this.#parts.push(`(${sql})`);
    this.values.push(...values);
    return this;
  }

  equal(column: string, value: string | undefined): this {
    return value === undefined ? this : this.add(`${column} = ?`, value);
  }

  /** NULL may be a member of the list. */
  oneOf(column: string, allowed: readonly (string | null)[] | undefined): this {
    if (allowed === undefined) {
      return this;
    }
    const list = `${column} IN (SELECT value FROM json_each(?))`;
    const values = JSON.stringify(allowed.filter((value) => value !== null));
    return this.add(allowed.includes(null) ? `${list} OR ${column} IS NULL` : list, values);
  }

  get sql(): string {
    return this.#parts.length === 0 ? "1" : this.#parts.join(" AND ");
  }
}
