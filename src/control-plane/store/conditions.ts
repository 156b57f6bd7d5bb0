import type { SqlValue } from "./codec.js";
import { behind, type Place, type SortColumn } from "./sort-order.js";

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

  /** @param expression fixed SQL */
  atLeast(expression: string, value: number | undefined): this {
    return value === undefined ? this : this.add(`${expression} >= ?`, value);
  }

  /** @param expression fixed SQL */
  atMost(expression: string, value: number | undefined): this {
    return value === undefined ? this : this.add(`${expression} <= ?`, value);
  }

  /** What comes behind a place in that order; absent: all. */
  behind(order: readonly SortColumn[], place: Place | undefined): this {
    if (place === undefined) {
      return this;
    }
    const { sql, values } = behind(order, place);
    return this.add(sql, ...values);
  }

  /** NULL may be a member of the list. */
  oneOf(column: string, allowed: readonly (string | null)[] | undefined): this {
    if (allowed === undefined) {
      return this;
    }
    const [only] = allowed;
    if (allowed.length === 1 && typeof only === "string") {
      return this.equal(column, only);
    }
    const list = `${column} IN (SELECT value FROM json_each(?))`;
    const values = JSON.stringify(allowed.filter((value) => value !== null));
    return this.add(allowed.includes(null) ? `${list} OR ${column} IS NULL` : list, values);
  }

  get sql(): string {
    return this.#parts.length === 0 ? "1" : this.#parts.join(" AND ");
  }
}
