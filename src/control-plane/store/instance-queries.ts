import type { InstanceFilters } from "../../conductor-client/methods/records.js";
import { hasOneValue } from "../../records/field.js";
import { INSTANCE, type Instance, type TaskState, type VmState } from "../../records/index.js";
import type { Sql } from "../database/sql.js";
import { Conditions, orderBy, type Place, type SortColumn } from "./conditions.js";
import { rejectField, type SqlValue } from "./record-fields.js";
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
  /**
   * A LIKE pattern for names, case-insensitive, with `\` as escape character.
   * Also matches all names with non-ASCII characters, because SQLite cannot fold their case; the caller filters those.
   */
  readonly nameLike?: string;
  readonly uuids?: readonly string[];
  readonly changesSince?: number;
  readonly changesBefore?: number;
  readonly deleted?: boolean;
  readonly sort?: readonly { readonly key: keyof Instance; readonly direction: "asc" | "desc" }[];
  readonly limit?: number;
  /** Only instances after this position of the order. */
  readonly after?: Place;
}

type ActiveWindow = {
  readonly begin: number;
  readonly end: number;
  /** Absent: all projects. */
  readonly projectId?: string;
  readonly limit: number;
  /** The uuid of the last instance on the previous page. */
  readonly marker: string | undefined;
};

export interface InstanceName {
  readonly uuid: string;
  readonly displayName: string;
  /** In the order of the list. */
  readonly place: Place;
}

/** The scalar fields and whether they may be null. Lists and objects cannot be sorted. */
const SORT_KEYS: ReadonlyMap<string, boolean> = new Map(
  Object.entries(INSTANCE).flatMap(([field, schema]) =>
    hasOneValue(schema) ? [[field, [schema.type].flat().includes("null")] as const] : [],
  ),
);

/** The queries for lists of instances. */
export function createInstanceQueries(sql: Sql, table: Table<Instance>) {
  return {
    /** Returns instances by the filters of agents. Includes deleted rows unless `deleted` is false (spec 1.1). */
    byFilters(filters: InstanceFilters): Instance[] {
      const { uuids, host, node, launchedOn, deleted, softDeleted = true, cleaned, vmStates, taskStates } = filters;
      const conditions = new Conditions()
        .oneOf("uuid", uuids)
        .equal("host", host)
        .equal("node", node)
        .equal("launched_on", launchedOn)
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
    },
    /**
     * Returns the Compute API's list, newest first. Soft-deleted instances are included only on request.
     * @throws {InvalidParameters} for an unknown sort key
     */
    list(query: InstanceQuery): Instance[] {
      const { text, values } = selectionOf(table, query);
      return table.many(text, ...values);
    },
    /**
     * Returns uuids, names and positions of the same list, without the costly columns: for filters that SQL cannot evaluate.
     * @throws {InvalidParameters} for an unknown sort key
     */
    names(query: InstanceQuery): InstanceName[] {
      const { text, values } = selectionOf(table, query);
      const columns = orderOf(table, query.sort).map(({ column }) => column);
      return sql
        .all(`SELECT uuid, display_name, ${columns.join(", ")} FROM instances WHERE ${text}`, ...values)
        .map(([uuid, name, ...place]) => ({ uuid: String(uuid), displayName: String(name), place }));
    },
    /**
     * Returns an instance's position in the list's order, whether or not it matches the filters; null if the project has
     * no such instance.
     */
    place(
      uuid: string,
      { projectId, deleted, sort }: Pick<InstanceQuery, "projectId" | "deleted" | "sort">,
    ): Place | null {
      const conditions = new Conditions().equal("uuid", uuid).equal("project_id", projectId);
      if (deleted === false) {
        conditions.add("deleted = 0");
      }
      const columns = orderOf(table, sort).map(({ column }) => column);
      const text = `SELECT ${columns.join(", ")} FROM instances WHERE ${conditions.sql}`;
      return sql.get(text, ...conditions.values) ?? null;
    },
    /**
     * Returns a page, by project and uuid, of the instances, including deleted ones, that ran in a time window; null if the
     * marker does not exist.
     */
    activeWithin({ begin, end, projectId, limit, marker }: ActiveWindow): Instance[] | null {
      const conditions = new Conditions()
        .equal("project_id", projectId)
        .add("launched_at < ?", end)
        .add("terminated_at IS NULL OR terminated_at > ?", begin);
      if (marker !== undefined) {
        const last = table.one("uuid = ?", marker);
        if (last === null) {
          return null;
        }
        conditions.add("(project_id, uuid) > (?, ?)", last.projectId, last.uuid);
      }
      return table.many(`${conditions.sql} ORDER BY project_id, uuid LIMIT ?`, ...conditions.values, limit);
    },
  };
}

function selectionOf(
  table: Table<Instance>,
  query: InstanceQuery,
): { readonly text: string; readonly values: SqlValue[] } {
  const order = orderOf(table, query.sort);
  const conditions = conditionsOf(query).behind(order, query.after);
  const limit = query.limit ?? Number.MAX_SAFE_INTEGER;
  return { text: `${conditions.sql} ORDER BY ${orderBy(order)} LIMIT ?`, values: [...conditions.values, limit] };
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
    .oneOf("task_state", query.taskStates)
    .atLeast("coalesce(updated_at, created_at)", query.changesSince)
    .atMost("coalesce(updated_at, created_at)", query.changesBefore);
  const { deleted, changesSince, vmStates, nameLike } = query;
  if (nameLike !== undefined) {
    conditions.add("display_name LIKE ? ESCAPE '\\' OR display_name GLOB '*[^ -~]*'", nameLike);
  }
  if (deleted) {
    return conditions.add("deleted <> 0");
  }
  // As in Nova, a list with changes-since includes deleted instances.
  if (deleted === undefined && changesSince !== undefined) {
    return conditions;
  }
  conditions.add("deleted = 0");
  return vmStates === undefined ? conditions.add("vm_state <> 'soft-delete'") : conditions;
}

function orderOf(
  table: Table<Instance>,
  sort: InstanceQuery["sort"] = [{ key: "createdAt", direction: "desc" }],
): readonly SortColumn[] {
  const keys = sort.map(({ key, direction }): SortColumn => {
    const nullable = SORT_KEYS.get(key);
    if (nullable === undefined) {
      rejectField("sort_key", key, `one of ${[...SORT_KEYS.keys()].join(", ")}`);
    }
    return { column: table.column(key), direction: direction === "asc" ? "ASC" : "DESC", nullable };
  });
  return [...keys, { column: "id", direction: keys.at(-1)?.direction ?? "DESC", nullable: false }];
}
