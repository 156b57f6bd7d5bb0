import type { SqlValue } from "./record-fields.js";

/** A column of a sort order. The columns of an order identify a row uniquely. */
export interface SortColumn {
  readonly column: string;
  readonly direction: "ASC" | "DESC";
  readonly nullable: boolean;
}

/** A row's position in a sort order: its values of the order's columns. */
export type Place = readonly SqlValue[];

/** Conditions that are joined with AND. An absent value adds none. */
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

  /** Selects the rows after a position in the order; absent: all rows. */
  behind(order: readonly SortColumn[], place: Place | undefined): this {
    if (place === undefined) {
      return this;
    }
    const { sql, values } = behind(order, place);
    return this.add(sql, ...values);
  }

  /** The list may contain NULL. */
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
 * Returns the condition for the rows after a position, so that a page is read from its start. NULL sorts first, as in
 * SQLite.
 * If all columns have the same direction, a single row comparison lets SQLite seek in an index.
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

/** @param values the values of the condition are appended to it */
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
