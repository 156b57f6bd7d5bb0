import { isObject } from "../../../runtime/collections.js";
import type { Sql } from "../../database/sql.js";
import { badRequest, HttpError } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { pythonRepr } from "../../python/repr.js";
import { and, type Condition, not, where } from "../../resources/condition.js";
import type { NetworkCall, NetworkRoute } from "./network-call.js";
import type { NetworkContext } from "./network-context.js";
import { networkError } from "./network-errors.js";
import { enforceRule, isAllowed, ruleOf } from "./network-policy.js";
import type { NetworkRecord, NetworkResource } from "./network-resource.js";
import { visibleTo } from "./sharing.js";

/** Finds the records with a tag; the table's key finds the tags of a record. */
export const TAGS_SQL = ["CREATE INDEX IF NOT EXISTS network_tags_by_tag ON network_tags (tag)"];

const MAX_TAGS = 50;
const MAX_LENGTH = 255;

/** Returns the tags of records by their ids, in the order of Neutron's database: alphabetical, case ignored. */
export function tagsOf(sql: Sql, ids: readonly string[]): ReadonlyMap<string, readonly string[]> {
  const rows = sql.all(
    "SELECT resource_uuid, tag FROM network_tags WHERE resource_uuid IN (SELECT value FROM json_each(?)) ORDER BY tag COLLATE NOCASE",
    JSON.stringify(ids),
  );
  const tags = new Map<string, string[]>();
  for (const [id, tag] of rows) {
    const list = tags.get(String(id)) ?? [];
    list.push(String(tag));
    tags.set(String(id), list);
  }
  return tags;
}

export function replaceTags(sql: Sql, id: string, tags: readonly string[]): void {
  removeTags(sql, id);
  for (const tag of tags) {
    addTag(sql, id, tag);
  }
}

export function removeTags(sql: Sql, id: string): void {
  sql.execute("DELETE FROM network_tags WHERE resource_uuid = ?", id);
}

function addTag(sql: Sql, id: string, tag: string): void {
  sql.execute("INSERT OR IGNORE INTO network_tags VALUES (?, ?)", id, tag);
}

/** Filters of lists of tagged resources, by the name of the query parameter. */
export const TAG_FILTERS: Readonly<Record<string, (table: string, tags: readonly string[]) => Condition>> = {
  tags: (table, tags) => and(...tags.map((tag) => hasTag(table, [tag]))),
  "tags-any": hasTag,
  "not-tags": (table, tags) => not(and(...tags.map((tag) => hasTag(table, [tag])))),
  "not-tags-any": (table, tags) => not(hasTag(table, tags)),
};

function hasTag(table: string, tags: readonly string[]): Condition {
  const condition = where`network_tags.tag IN (SELECT value FROM json_each(${JSON.stringify(tags)}))`;
  return {
    sql: `${table}.id IN (SELECT network_tags.resource_uuid FROM network_tags WHERE ${condition.sql})`,
    values: condition.values,
  };
}

/** Creates the routes of a resource's tags below one of its paths. */
export function tagRoutes(resource: NetworkResource, path: string): readonly NetworkRoute[] {
  const read =
    (work: (call: NetworkCall, id: string, tags: readonly string[]) => RouteResponse) => (call: NetworkCall) => {
      const { id, tags } = findTagged(call.context, resource, call.param("id"), "get");
      return work(call, id, tags);
    };
  const write =
    (
      operation: "update" | "delete",
      work: (call: NetworkCall, id: string, tags: readonly string[]) => RouteResponse,
      check?: (call: NetworkCall) => void,
    ) =>
    (call: NetworkCall) =>
      call.context.sql.transaction(() => {
        // Neutron validates the tags before it looks for their record.
        check?.(call);
        const { id, tags } = findTagged(call.context, resource, call.param("id"), operation);
        const response = work(call, id, tags);
        call.context.touch(resource, id);
        return response;
      });
  return routes<NetworkRoute>(
    {
      "GET /": read((_call, _id, tags) => ({ body: { tags: [...tags] } })),
      "GET /:tag": read((call, _id, tags) => {
        requireTag(tags, call.param("tag"));
        return { status: 204 };
      }),
      "PUT /": write(
        "update",
        (call, id) => {
          const tags = readTags(call);
          replaceTags(call.context.sql, id, tags);
          return { body: { tags: [...tags] } };
        },
        readTags,
      ),
      "POST /": write(
        "update",
        (call, id, existing) => {
          const tags = readTags(call);
          replaceTags(call.context.sql, id, checkTags([...new Set([...existing, ...tags])]));
          return { status: 201, body: { tags: [...tags] } };
        },
        readTags,
      ),
      "DELETE /": write("delete", (call, id) => {
        removeTags(call.context.sql, id);
        return { status: 204 };
      }),
      "PUT /:tag": write("update", (call, id, existing) => {
        const tag = call.param("tag");
        checkTags([...new Set([...existing, tag])]);
        addTag(call.context.sql, id, tag);
        return { status: 201 };
      }),
      "DELETE /:tag": write("delete", (call, id, tags) => {
        requireTag(tags, call.param("tag"));
        call.context.sql.execute("DELETE FROM network_tags WHERE resource_uuid = ? AND tag = ?", id, call.param("tag"));
        return { status: 204 };
      }),
    },
    { prefix: `${path}/:id/tags` },
  );
}

function findTagged(
  context: NetworkContext,
  resource: NetworkResource,
  id: string,
  operation: "get" | "update" | "delete",
) {
  const visible = visibleTo(context, resource);
  const record: NetworkRecord<typeof resource> | undefined = context
    .table(resource)
    .first(and(where`id = ${id}`, visible));
  if (record === undefined) {
    throw networkError(404, "TagResourceNotFound", `Resource ${resource.collection} ${id} could not be found.`);
  }
  const rule = `${ruleOf(operation, resource)}:tags`;
  if (operation !== "get" && isAllowed(context, `${ruleOf("get", resource)}:tags`, resource, record)) {
    enforceRule(context, rule, resource, record);
  } else if (!isAllowed(context, rule, resource, record)) {
    throw new HttpError(404, "The resource could not be found.");
  }
  return { id, tags: tagsOf(context.sql, [id]).get(id) ?? [] };
}

function requireTag(tags: readonly string[], tag: string): void {
  if (!tags.includes(tag)) {
    throw networkError(404, "TagNotFound", `Tag ${tag} could not be found.`);
  }
}

function readTags(call: NetworkCall): readonly string[] {
  const body = call.body();
  if (!isObject(body) || body.tags === undefined) {
    throw invalidTags("Invalid tags body");
  }
  return checkTags(body.tags);
}

/** @throws {HttpError} 400 */
function checkTags(value: unknown): readonly string[] {
  if (!Array.isArray(value)) {
    throw invalidTags(`'${typeof value === "string" ? value : pythonRepr(value)}' is not a list`);
  }
  const repeated = new Set(value.filter((tag, index) => value.indexOf(tag) !== index));
  if (repeated.size > 0) {
    throw invalidTags(`Duplicate items in the list: '${[...repeated].join(", ")}'`);
  }
  for (const tag of value) {
    if (typeof tag !== "string") {
      throw invalidTags(`'${pythonRepr(tag)}' is not a valid string`);
    }
    if (tag.length > MAX_LENGTH) {
      throw invalidTags(`'${tag}' exceeds maximum length of ${MAX_LENGTH}`);
    }
  }
  if (value.length > MAX_TAGS) {
    throw invalidTags(`The number of tags exceed the per-resource limit of ${MAX_TAGS}`);
  }
  return value;
}

function invalidTags(reason: string): HttpError {
  return badRequest(`Invalid input for operation: ${reason}.`, "InvalidInput");
}
