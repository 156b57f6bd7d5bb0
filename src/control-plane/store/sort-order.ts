import type { SqlValue } from "./codec.js";

/** One column of an order. The columns of one together name each row once. */
export interface SortColumn {
  readonly column: string;
  readonly direction: "ASC" | "DESC";
  readonly nullable: boolean;
}

/** A row's place in an order: its values of the order's columns. */
export type Place = readonly SqlValue[];

export function orderBy(order: readonly SortColumn[]): string {
  return order.map(({ column, direction }) => `${column} ${direction}`).join(", ");
}

/**
 * The condition that holds for the rows behind a place, so that a page is read from where it begins. NULL is less than
 * everything, as SQLite sorts it. Where one comparison says it, an index in that order is entered at the place.
 */
export function behind(
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
