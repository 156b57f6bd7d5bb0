import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { pythonRepr } from "../../python/repr.js";
import { and, type Condition, isOneOf } from "../../resources/condition.js";
import { columnOf } from "../../resources/resource.js";
import { findPage, type SortKey } from "../../resources/resource-page.js";
import { inParent, requireParent } from "./find-record.js";
import type { NetworkCall } from "./network-call.js";
import type { NetworkContext } from "./network-context.js";
import { networkError } from "./network-errors.js";
import { isAllowed, ruleOf } from "./network-policy.js";
import type { NetworkAttribute, NetworkResource } from "./network-resource.js";
import { viewsOf } from "./records.js";
import { sharedRows, visibleTo } from "./sharing.js";
import { TAG_FILTERS } from "./tags.js";
import { renderView } from "./views.js";

/** Query parameters that are not filters. */
const OTHERS = ["fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir", "verbose"];

/** The max number of records that are read at once. */
const SLICE = 500;

/** Handles a list: filters, sorting and pages. */
export async function listRecords(call: NetworkCall, resource: NetworkResource): Promise<RouteResponse> {
  const { context, query } = call;
  const { collection } = resource;
  requireParent(call, resource);
  const filters = readFilters(call, resource);
  const { beforeList } = context.services.registry.behaviourOf(resource);
  if (beforeList) {
    context.sql.transaction(() => beforeList(context, query.lists()));
  }
  const sort = readSort(call, resource);
  const limit = readLimit(call);
  const marker = query.get("marker");
  const isReverse = query.get("page_reverse")?.toLowerCase() === "true";
  const condition = and(visibleTo(context, resource), inParent(call, resource), ...filters);
  const ids = findPage(context.sql, resource, condition, { sort, limit, marker, isReverse });
  if (ids === undefined) {
    throw networkError(404, "MarkerNotFound", `Marker ${marker} could not be found.`);
  }
  const views = await renderAll(call, resource, ids);
  const links = limit === undefined ? [] : pageLinks(call, ids, { limit, marker, isReverse });
  return { body: { [collection]: views, ...(links.length > 0 ? { [`${collection}_links`]: links } : {}) } };
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
    for (const [index, view] of viewsOf(context, resource, records).entries()) {
      if (isAllowed(context, ruleOf("get", resource), resource, { ...records[index], ...view })) {
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
  const unknown = filters
    .map(([name]) => name)
    .filter((name) => !isFilter(resource, name) && !Object.hasOwn(own, name));
  if (unknown.length > 0) {
    throw badRequest(`${pythonRepr(unknown)} is invalid attribute for filtering`);
  }
  return filters.map(([name, values]) => own[name]?.(context, values) ?? filterBy(context, resource, name, values));
}

function isFilter({ attributes, tagged }: NetworkResource, name: string): boolean {
  return (
    attributes[name === "tenant_id" ? "project_id" : name]?.filter === true ||
    (tagged === true && Object.hasOwn(TAG_FILTERS, name))
  );
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
  const attribute = name === "tenant_id" ? "project_id" : name;
  const { type } = attributes[attribute] as NetworkAttribute;
  const column = `${table}.${columnOf(attribute)}`;
  switch (type.column) {
    case "boolean":
      return isOneOf(
        column,
        values.map((value) => (isTrue(value) ? 1 : 0)),
      );
    case "integer":
      return isOneOf(
        `CAST(${column} AS TEXT)`,
        values.map((value) => (value === "None" ? null : value)),
      );
    case "text":
    case "json":
      return isOneOf(
        column,
        values.map((value) => (value === "None" || value === "null" ? null : value)),
      );
  }
}

/** Parses a boolean as Python's services do. */
export function isTrue(value: string): boolean {
  return ["true", "1", "t", "yes", "on", "y"].includes(value.toLowerCase());
}

/** @throws {HttpError} 400 */
function readSort({ query }: NetworkCall, { attributes }: NetworkResource): readonly SortKey[] {
  const keys = query.all("sort_key");
  const directions = query.all("sort_dir");
  const unknown = keys.filter((key) => !(key === "tenant_id" || attributes[key]?.sort));
  if (keys.length !== directions.length) {
    throw badRequest("The number of sort_keys and sort_dirs must be same");
  }
  if (unknown.length > 0) {
    throw badRequest(`${pythonRepr(unknown)} is invalid attribute for sort_keys`);
  }
  return keys.map((key, index) => {
    const direction = directions[index];
    if (direction !== "asc" && direction !== "desc") {
      throw badRequest(`sort_dirs contains invalid value: ${direction}; expected asc or desc`);
    }
    return { attribute: key === "tenant_id" ? "project_id" : key, direction: direction === "asc" ? "ASC" : "DESC" };
  });
}

/** Returns undefined if there is no paging. @throws {HttpError} 400 */
function readLimit({ query }: NetworkCall): number | undefined {
  const text = query.get("limit");
  if (text === undefined) {
    return undefined;
  }
  if (!/^\d{1,9}$/.test(text)) {
    throw networkError(
      400,
      "BadRequest",
      `Bad limit request: Limit must be an integer 0 or greater and not '${text}'.`,
    );
  }
  return text === "0" ? undefined : Number(text);
}

interface Page {
  readonly limit: number;
  readonly marker: string | undefined;
  readonly isReverse: boolean;
}

/** Returns Neutron's links: to the next page if this one is full, and to the previous one if it has records. */
function pageLinks(call: NetworkCall, ids: readonly string[], { limit, isReverse, marker }: Page): readonly Json[] {
  const [first] = ids;
  const last = ids.at(-1);
  const isFull = ids.length >= limit;
  const links: Json[] = [];
  if (last !== undefined && (isFull || isReverse)) {
    links.push(link(call, "next", last));
  }
  if (first !== undefined && (isFull || !isReverse)) {
    links.push(link(call, "previous", first));
  }
  if (first === undefined && marker !== undefined) {
    links.push(link(call, isReverse ? "next" : "previous", marker));
  }
  return links;
}

function link({ request, query }: NetworkCall, rel: "next" | "previous", marker: string): Json {
  const parameters = new URLSearchParams();
  for (const [name, value] of query.entries.filter(([name]) => name !== "marker" && name !== "page_reverse")) {
    parameters.append(name, value);
  }
  parameters.set("marker", marker);
  if (rel === "previous") {
    parameters.set("page_reverse", "True");
  }
  return { rel, href: `${request.baseUrl}${request.path}?${parameters}` };
}
