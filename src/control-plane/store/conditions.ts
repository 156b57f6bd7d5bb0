import type { SqlValue } from "./record-fields.js";

/** One column of an order. The columns of one together name each row once. */
export interface SortColumn {
  readonly column: string;
  readonly direction: "ASC" | "DESC";
  readonly nullable: boolean;
}

/** A row's place in an order: its values of the order's columns. */
export type Place = readonly SqlValue[];

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

export function orderBy(order: readonly SortColumn[]): string {
  return order.map(({ column, direction }) => `${column} ${direction}`).join(", ");
}

/**
 * The condition that holds for the rows behind a place, so that a page is read from where it begins. NULL is less than
 * everything, as SQLite sorts it. Where one comparison says it, an index in that order is entered at the place.
 */
function behind(
  order: readonly SortColumn[],
  place: Place,
): { readonly sql: string; readonly values: readonly SqlValue[] } {
  const [first] = order;
  if (order.every(({ direction, nullable }) => !nullable && direction === first?.direction)) {
    const columns = order.map(({ column }) => column).join(", ");
    const marks = order.map(() => "?").join(", ");
    return { sql: `(${columns}) ${first?.direction === "ASC" ? ">" : "<"} (${marks})`, values: place };
  }
  const values: SqlValue[] = [];
  const parts = order.map((sorted, index) => {
    const same = order.slice(0, index).map(({ column }, before) => {
      values.push(place[before] ?? null);
      return `${column} IS ?`;
    });
    return [...same, strictlyBehind(sorted, place[index] ?? null, values)].join(" AND ");
  });
  return { sql: parts.map((part) => `(${part})`).join(" OR "), values };
}

/** @param values takes those of the condition */
function strictlyBehind({ column, direction, nullable }: SortColumn, value: SqlValue, values: SqlValue[]): string {
  if (value === null) {
    return direction === "ASC" ? `${column} IS NOT NULL` : "0";
  }
  values.push(value);
  if (direction === "ASC") {
    return `${column} > ?`;
  }
  return nullable ? `(${column} < ? OR ${column} IS NULL)` : `${column} < ?`;
}
