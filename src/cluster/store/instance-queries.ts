import type { InstanceFilters } from "../../conductor/methods/filters.js";
import { hasOneValue } from "../../records/field.js";
import { INSTANCE, type Instance, type TaskState, type VmState } from "../../records/index.js";
import { refuse } from "./check.js";
import { Conditions } from "./conditions.js";
import type { Sql } from "./sql.js";
import type { Table } from "./table.js";

export interface InstanceQuery {
  /** Absent: all projects. */
  readonly projectId?: string;
  readonly userId?: string;
  readonly host?: string;
  readonly node?: string;
  readonly vmStates?: readonly VmState[];
  readonly taskStates?: readonly (TaskState | null)[];
  readonly flavorId?: string;
  readonly imageRef?: string;
  readonly uuids?: readonly string[];
  readonly changesSince?: number;
  readonly changesBefore?: number;
  readonly deleted?: boolean;
  readonly sort?: readonly { readonly key: keyof Instance; readonly direction: "asc" | "desc" }[];
  readonly limit?: number;
  readonly marker?: string;
}

export interface InstanceName {
  readonly uuid: string;
  readonly displayName: string;
}

/** Fields with one value: lists and objects have no order. */
const SORT_KEYS: ReadonlySet<string> = new Set(
  Object.entries(INSTANCE).flatMap(([field, schema]) => (hasOneValue(schema) ? [field] : [])),
);

/** List-by-filters of the agent's side: deleted rows too unless `deleted: false` is given (spec 1.1). */
export function filterInstances(table: Table<Instance>, filters: InstanceFilters): Instance[] {
  const { uuids, host, node, deleted, softDeleted = true, cleaned, vmStates, taskStates } = filters;
  const conditions = new Conditions()
    .oneOf("uuid", uuids)
    .equal("host", host)
    .equal("node", node)
    .oneOf("vm_state", vmStates)
    .oneOf("task_state", taskStates);
  if (deleted === false) {
    conditions.add("deleted = 0");
  } else if (deleted) {
    conditions.add(softDeleted ? "deleted <> 0 OR vm_state = 'soft-delete'" : "deleted <> 0");
  }
  if (cleaned !== undefined) {
    conditions.add("cleaned = ?", cleaned ? 1 : 0);
  }
  return table.many(`${conditions.sql} ORDER BY id`, ...conditions.values);
}

/** The Compute API's list. @throws {InvalidParameters} an unknown sort key or marker. */
export function queryInstances(table: Table<Instance>, sql: Sql, query: InstanceQuery): Instance[] {
  const conditions = conditionsOf(query);
  const order = orderOf(table, query.sort);
  const limit = query.limit ?? Number.MAX_SAFE_INTEGER;
  if (query.marker === undefined) {
    return table.many(`${conditions.sql} ORDER BY ${order} LIMIT ?`, ...conditions.values, limit);
  }
  const uuids = queryNames(table, sql, query).map(({ uuid }) => uuid);
  const page = uuids.slice(startOf(uuids, query.marker)).slice(0, limit);
  const rows = table.many("uuid IN (SELECT value FROM json_each(?))", JSON.stringify(page));
  const byUuid = new Map(rows.map((row) => [row.uuid, row]));
  return page.flatMap((uuid) => byUuid.get(uuid) ?? []);
}

/** The members of that list, in its order; marker and limit are not looked at. @throws {InvalidParameters} an unknown sort key. */
export function queryNames(table: Table<Instance>, sql: Sql, query: InstanceQuery): InstanceName[] {
  const conditions = conditionsOf(query);
  const order = orderOf(table, query.sort);
  return sql
    .all(`SELECT uuid, display_name FROM instances WHERE ${conditions.sql} ORDER BY ${order}`, ...conditions.values)
    .map(([uuid, name]) => ({ uuid: String(uuid), displayName: String(name) }));
}

function conditionsOf(query: InstanceQuery): Conditions {
  const conditions = new Conditions()
    .equal("project_id", query.projectId)
    .equal("user_id", query.userId)
    .equal("host", query.host)
    .equal("node", query.node)
    .equal("image_ref", query.imageRef)
    .equal("flavor ->> '$.flavorid'", query.flavorId)
    .oneOf("uuid", query.uuids)
    .oneOf("vm_state", query.vmStates)
    .oneOf("task_state", query.taskStates);
  if (query.changesSince !== undefined) {
    conditions.add("coalesce(updated_at, created_at) >= ?", query.changesSince);
  }
  if (query.changesBefore !== undefined) {
    conditions.add("coalesce(updated_at, created_at) <= ?", query.changesBefore);
  }
  const { deleted, changesSince, vmStates } = query;
  if (deleted) {
    return conditions.add("deleted <> 0");
  }
  // Nova's rule: a list of changes has the deletions, too.
  if (deleted === undefined && changesSince !== undefined) {
    return conditions;
  }
  conditions.add("deleted = 0");
  return vmStates === undefined ? conditions.add("vm_state <> 'soft-delete'") : conditions;
}

function orderOf(
  table: Table<Instance>,
  sort: InstanceQuery["sort"] = [{ key: "createdAt", direction: "desc" }],
): string {
  const keys = sort.map(({ key, direction }) => {
    if (!SORT_KEYS.has(key)) {
      refuse("sort_key", key, `one of ${[...SORT_KEYS].join(", ")}`);
    }
    return `${table.column(key)} ${direction === "asc" ? "ASC" : "DESC"}`;
  });
  return [...keys, `id ${sort.at(-1)?.direction === "asc" ? "ASC" : "DESC"}`].join(", ");
}

function startOf(uuids: readonly string[], marker: string | undefined): number {
  if (marker === undefined) {
    return 0;
  }
  const index = uuids.indexOf(marker);
  if (index < 0) {
    refuse("marker", marker, "the id of a server in the list");
  }
  return index + 1;
}
