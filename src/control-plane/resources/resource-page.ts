import type { Sql } from "../database/sql.js";
import { Conditions, orderBy, type SortColumn } from "../store/conditions.js";
import { type Condition, EVERY } from "./condition.js";
import { expressionOf, type StoredResource } from "./resource.js";

export interface SortKey {
  readonly attribute: string;
  readonly direction: "ASC" | "DESC";
}

export interface PageRequest {
  readonly sort: readonly SortKey[];
  /** The max number of records; absent: all. */
  readonly limit: number | undefined;
  /** The id of the record behind which the page begins, or before which it ends if `isReverse`. */
  readonly marker: string | undefined;
  readonly isReverse: boolean;
}

/**
 * Returns the ids of a page of the records that match; undefined if there is no record with the marker's id.
 * Without a limit, marker and sort keys, the order is that of creation.
 */
export function findPage(
  sql: Sql,
  resource: StoredResource,
  condition: Condition,
  { sort, limit, marker, isReverse }: PageRequest,
): readonly string[] | undefined {
  const { table } = resource;
  // With a condition, SQLite would often walk the index of the order and fetch each row to test it.
  const unindexed = condition.sql === EVERY.sql ? "" : "+";
  const isPaged = sort.length > 0 || limit !== undefined || marker !== undefined;
  const keys: readonly SortKey[] = sort.some(({ attribute }) => attribute === "id")
    ? sort
    : [...sort, { attribute: "id", direction: "ASC" }];
  const order = keys.map(({ attribute, direction }): SortColumn => {
    const reversed = direction === "ASC" ? "DESC" : "ASC";
    return {
      column: `${unindexed}${expressionOf(resource, attribute)}`,
      direction: isReverse ? reversed : direction,
      nullable: attribute !== "id",
    };
  });
  const conditions = new Conditions().add(condition.sql, ...condition.values);
  if (marker !== undefined) {
    const place = sql.get(`SELECT ${order.map(({ column }) => column).join(", ")} FROM ${table} WHERE id = ?`, marker);
    if (place === undefined) {
      return undefined;
    }
    conditions.behind(order, place);
  }
  const ids = sql.strings(
    `SELECT ${table}.id FROM ${table} WHERE ${conditions.sql}
      ORDER BY ${isPaged ? orderBy(order) : `${table}.rowid`} LIMIT ?`,
    ...conditions.values,
    limit ?? -1,
  );
  return isReverse ? ids.reverse() : ids;
}
