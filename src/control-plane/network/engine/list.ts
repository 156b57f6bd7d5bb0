import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { pythonRepr } from "../../python/repr.js";
import { and, type Condition, isOneOf, where } from "../../resources/condition.js";
import { columnOf } from "../../resources/resource.js";
import { findPage, type SortKey } from "../../resources/resource-page.js";
import { inParent, requireParent } from "./find-record.js";
import type { NetworkCall } from "./network-call.js";
import type { NetworkContext } from "./network-context.js";
import { badResource, networkError } from "./network-errors.js";
import { isAllowed, readTarget, ruleOf } from "./network-policy.js";
import type { NetworkAttribute, NetworkResource, NetworkType } from "./network-resource.js";
import { parseInteger } from "./python-values.js";
import { findRecord, viewsOf } from "./records.js";
import { isCore } from "./request-body.js";
import { sharedRows, visibleTo } from "./sharing.js";
import { TAG_FILTERS } from "./tags.js";
import { convertFilter } from "./validate-attributes.js";
import { renderView } from "./views.js";

/** Query parameters that are not filters. */
const OTHERS = ["fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir", "verbose"];

/** Collections whose lists need a marker that the caller sees. Others begin at the start without it. */
const WITH_KNOWN_MARKER: readonly string[] = ["networks", "ports", "routers"];

/** The max number of records that are read at once. */
const SLICE = 500;

/** Handles a list: filters, sorting and pages. */
export async function listRecords(call: NetworkCall, resource: NetworkResource): Promise<RouteResponse> {
  const { context, query } = call;
  const { collection } = resource;
  const filters = readFilters(call, resource);
  const { limit, sort } = readPaging(call, resource);
  requireParent(call, resource);
  const marker = limit === undefined ? undefined : findMarker(call, resource);
  const isReverse = query.get("page_reverse")?.toLowerCase() === "true";
  const { beforeList } = context.services.registry.behaviourOf(resource);
  if (beforeList) {
    context.sql.transaction(() => beforeList(context, query.lists()));
  }
  const condition = and(visibleTo(context, resource), inParent(call, resource), ...filters);
  const page = findPage(context.sql, resource, condition, { sort, limit, marker, isReverse }) ?? [];
  // Neutron turns a reversed page round, but not a reversed list.
  const ids = isReverse && limit === undefined ? page.toReversed() : page;
  const views = await renderAll(call, resource, ids);
  const links = limit === undefined ? [] : pageLinks(call, ids, { limit, isReverse });
  return { body: { [collection]: views, ...(links.length > 0 ? { [`${collection}_links`]: links } : {}) } };
}

/** Returns the id of the record that the marker names; undefined if there is none. @throws {HttpError} 404 */
function findMarker({ context, query }: NetworkCall, resource: NetworkResource): string | undefined {
  const id = query.get("marker");
  if (id === undefined) {
    return undefined;
  }
  if (WITH_KNOWN_MARKER.includes(resource.collection)) {
    findRecord(context, resource, id);
    return id;
  }
  return context.table(resource).has(and(where`id = ${id}`, visibleTo(context, resource))) ? id : undefined;
}

async function renderAll(
  call: NetworkCall,
  resource: NetworkResource,
  ids: readonly string[],
): Promise<readonly Json[]> {
  const { context, ticks } = call;
  const fields = call.fields;
  const views: Json[] = [];
  for (let from = 0; from < ids.length; from += SLICE) {
    const records = context.table(resource).withIds(ids.slice(from, from + SLICE));
    for (const [index, view] of viewsOf(context, resource, records, call.query.lists()).entries()) {
      const target = readTarget(resource, { ...records[index], ...view }, fields);
      if (isAllowed(context, ruleOf("get", resource), resource, target)) {
        views.push(renderView(context, resource, view, fields));
      }
      if (ticks.due) {
        await ticks.give();
      }
    }
  }
  return views;
}

/** @throws {HttpError} 400 for an attribute that lists cannot be filtered by */
function readFilters({ context, query }: NetworkCall, resource: NetworkResource): readonly Condition[] {
  const filters = [...query.lists()].filter(([name]) => !OTHERS.includes(name));
  const own = context.services.registry.behaviourOf(resource).filters ?? {};
  const unknown: string[] = [];
  for (const [name, values] of filters) {
    const { type } = resource.attributes[columnAttribute(name)] ?? {};
    if (!isFilter(resource, name) && !Object.hasOwn(own, name)) {
      unknown.push(name);
    } else if (type) {
      assertConvertible(type, values);
    }
  }
  if (unknown.length > 0) {
    throw badRequest(`${pythonRepr(unknown)} is invalid attribute for filtering`);
  }
  return filters.map(([name, values]) => own[name]?.(context, values) ?? filterBy(context, resource, name, values));
}

function assertConvertible(type: NetworkType, values: readonly string[]): void {
  for (const value of values) {
    convertFilter(type, value);
  }
}

function isFilter({ attributes, tagged }: NetworkResource, name: string): boolean {
  return attributes[columnAttribute(name)]?.filter === true || (tagged === true && Object.hasOwn(TAG_FILTERS, name));
}

function filterBy(
  context: NetworkContext,
  { attributes, table, rbac }: NetworkResource,
  name: string,
  values: readonly string[],
): Condition {
  const byTags = TAG_FILTERS[name];
  if (byTags) {
    return byTags(
      table,
      values.flatMap((value) => value.split(",")),
    );
  }
  if (name === "shared" && rbac) {
    const isShared = sharedRows(`${table}.id`, rbac, context.caller.projectId, rbac.actions.slice(0, 1));
    return isTrue(values[0] ?? "") ? isShared : { sql: `NOT ${isShared.sql}`, values: isShared.values };
  }
  const attribute = columnAttribute(name);
  const { type } = attributes[attribute] as NetworkAttribute;
  const column = `${table}.${columnOf(attribute)}`;
  const converted = values.map((value) => convertFilter(type, value));
  switch (type.column) {
    case "boolean":
      return isOneOf(
        column,
        converted.map((value) => ((typeof value === "string" ? isTrue(value) : value) ? 1 : 0)),
      );
    case "integer":
      return isOneOf(`CAST(${column} AS TEXT)`, converted.map(textOrNull));
    case "text":
    case "json":
      return isOneOf(column, converted.map(textOrNull));
  }
}

const textOrNull = (value: unknown): string | null => (value === null ? null : String(value));

/** Parses a boolean as Python's services do. */
export function isTrue(value: string): boolean {
  return ["true", "1", "t", "yes", "on", "y"].includes(value.toLowerCase());
}

/** The API of extensions checks sort keys before the limit. @throws {HttpError} 400 */
function readPaging(call: NetworkCall, resource: NetworkResource) {
  if (resource.isPaged === false) {
    return { limit: undefined, sort: [] };
  }
  const early = isCore(resource) ? undefined : readSort(call, resource);
  const limit = readLimit(call);
  return { limit, sort: early ?? readSort(call, resource) };
}

/** @throws {HttpError} 400 */
function readSort({ query }: NetworkCall, { attributes, collection }: NetworkResource): readonly SortKey[] {
  const keys = query.all("sort_key").filter((key) => key !== "");
  const directions = query.all("sort_dir").filter((direction) => direction !== "");
  const unknown = keys.filter((key) => !attributes[columnAttribute(key)]?.sort);
  const invalid = directions.filter((direction) => direction !== "asc" && direction !== "desc");
  if (keys.length !== directions.length) {
    throw badRequest("The number of sort_keys and sort_dirs must be same");
  }
  if (unknown.length > 0) {
    throw badRequest(`${pythonRepr(unknown)} is invalid attribute for sort_keys`);
  }
  const computed = keys.find((key) => attributes[columnAttribute(key)]?.stored === false);
  if (computed !== undefined) {
    throw badResource(collection, `'${computed}' is an invalid attribute for sort key.`);
  }
  if (invalid.length > 0) {
    throw badRequest(`${pythonRepr(invalid)} is invalid value for sort_dirs, valid value is 'asc' and 'desc'`);
  }
  return keys.map((key, index) => ({
    attribute: columnAttribute(key),
    direction: directions[index] === "asc" ? "ASC" : "DESC",
  }));
}

const columnAttribute = (name: string): string => (name === "tenant_id" ? "project_id" : name);

/** Returns undefined if there is no paging. @throws {HttpError} 400 */
function readLimit({ query }: NetworkCall): number | undefined {
  const text = query.get("limit") ?? "0";
  const limit = parseInteger(text);
  if (limit === undefined || limit < 0n) {
    const value = limit ?? text;
    throw networkError(
      400,
      "BadRequest",
      `Bad limit request: Limit must be an integer 0 or greater and not '${value}'.`,
    );
  }
  return limit === 0n ? undefined : Number(limit);
}

interface Page {
  readonly limit: number;
  readonly isReverse: boolean;
}

/** Returns Neutron's links. It takes a page with fewer records than the limit for the last one in its direction. */
function pageLinks(call: NetworkCall, ids: readonly string[], { limit, isReverse }: Page): readonly Json[] {
  const isFull = ids.length >= limit;
  return [
    ...(isFull || isReverse ? [link(call, "next", ids.at(-1))] : []),
    ...(isFull || !isReverse ? [link(call, "previous", ids[0])] : []),
  ];
}

function link({ request, query }: NetworkCall, rel: "next" | "previous", marker: string | undefined): Json {
  const parameters = new URLSearchParams();
  for (const [name, value] of query.entries.filter(([name]) => name !== "marker" && name !== "page_reverse")) {
    parameters.append(name, value);
  }
  if (marker !== undefined) {
    parameters.set("marker", marker);
  }
  if (rel === "previous") {
    parameters.set("page_reverse", "True");
  }
  return { rel, href: `${request.baseUrl}${request.path}?${parameters}` };
}
