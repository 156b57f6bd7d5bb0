import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import type { RouteResponse } from "../../http/responses.js";
import { and, type Condition, EVERY, NONE, where } from "../../resources/condition.js";
import type { AttributeMap } from "../../resources/resource.js";
import { findPage, type SortKey } from "../../resources/resource-page.js";
import type { BlockStorageCall } from "./block-storage-call.js";
import { invalidInput, recordNotFound } from "./block-storage-errors.js";
import type { BlockStorageResource, ListDescription, ViewLevel } from "./block-storage-resource.js";
import { booleanFromText, strictBoolean } from "./schema-parts.js";
import { renderView } from "./views.js";

/** The max records of a list: Cinder's `osapi_max_limit`. */
const MAX_LIMIT = 1000;

/** Query parameters that are no filters. */
const OTHERS = [...["limit", "offset", "marker", "sort", "sort_key", "sort_dir", "all_tenants", "list_volume"]];

/** The first minor microversion that rejects unknown filters of users. */
const STRICT_FILTERS = 31;

/** The first minor microversion in which names of filters may end with `~`. */
const LIKE_FILTERS = 34;

interface ListOptions {
  readonly level: ViewLevel;
  /** Selects records beyond the filters of the request. */
  readonly only?: Condition;
  /** Overrides that of the resource, for a former path. */
  readonly pagesFrom?: number;
  /** Path of links to the next page. Default: the collection's. */
  readonly path?: string;
  /** Key of the list. Default: the collection. */
  readonly key?: string;
}

/** Handles a list: filters, sorting and pages. */
export function listRecords<M extends AttributeMap>(
  call: BlockStorageCall,
  resource: BlockStorageResource<M>,
  options: ListOptions,
): RouteResponse {
  const { context, query, version } = call;
  const { list = { filters: {}, sortKeys: [] } } = resource;
  const isPaged = version >= (options.pagesFrom ?? list.pagesFrom ?? 0);
  const page = isPaged ? readPage(call) : { ...readFormerPage(call, list), marker: undefined };
  const sort = isPaged ? readSort(call, list.sortKeys) : sortBy(list.formerDirection ?? "DESC");
  const conditions = [ownedBy(call, list), options.only ?? EVERY, ...readFilters(call, list)];
  const condition = and(...conditions);
  // A list that a filter empties does not look for the marker.
  const isEmpty = conditions.includes(NONE);
  if (page.marker !== undefined && !isEmpty && !context.table(resource).has(where`id = ${page.marker}`)) {
    throw recordNotFound(resource, page.marker);
  }
  const found = isEmpty
    ? []
    : findPage(context.sql, resource as unknown as BlockStorageResource, condition, {
        sort,
        limit: page.limit + page.offset,
        marker: page.marker,
        isReverse: false,
      });
  if (found === undefined) {
    throw recordNotFound(resource, page.marker ?? "");
  }
  const ids = found.slice(page.offset);
  const key = options.key ?? resource.collection;
  const records = context
    .table(resource)
    .withIds(ids)
    .map((record) => renderView(call, resource, record, options.level));
  const isFull = isPaged && list.linksKey !== null && ids.length > 0 && ids.length >= page.limit && query.has("limit");
  const path = options.path ?? `${resource.collection}${options.level === "show" ? "/detail" : ""}`;
  const withCount = version >= (list.countFrom ?? Number.POSITIVE_INFINITY) && booleanFromText(query.get("with_count"));
  return {
    body: {
      [key]: records,
      ...(isFull && { [list.linksKey ?? `${key}_links`]: [nextLink(call, path, ids.at(-1) ?? "")] }),
      ...(withCount && { count: context.table(resource).count(condition) }),
    },
  };
}

/** Returns the records of the caller's project, unless an administrator lists all. */
function ownedBy(
  { context, query }: BlockStorageCall,
  { isOwned = false, hasStrictTenants: isStrict }: ListDescription,
): Condition {
  const { caller } = context;
  if (!isOwned) {
    return EVERY;
  }
  const allTenants = query.get("all_tenants");
  if (caller.isAdmin && isStrict && allTenants !== undefined && strictBoolean(allTenants) === undefined) {
    throw badRequest(`Value '${allTenants}' for 'all_tenants' is not a boolean.`);
  }
  if (caller.isAdmin && isStrict && allTenants !== undefined && !booleanFromText(allTenants)) {
    // Cinder takes a false one for an unknown filter.
    return NONE;
  }
  if (caller.isAdmin && booleanFromText(allTenants)) {
    const projectId = query.get("project_id");
    return projectId === undefined ? EVERY : where`project_id = ${projectId}`;
  }
  return where`project_id = ${caller.projectId}`;
}

/** Users may name the filters of the configuration; an unknown filter of an administrator matches nothing. */
function readFilters(call: BlockStorageCall, list: ListDescription): readonly Condition[] {
  const { query, version, context } = call;
  const { isAdmin } = context.caller;
  const { filters, userFilters = Object.keys(filters), formerFilters = Object.keys(filters) } = list;
  const isIgnored = (name: string) => list.adminFilters?.includes(name) === true;
  const isProject = (name: string) => name === "project_id" && list.isOwned === true && isAdmin;
  const isCount = (name: string) => name === "with_count" && version >= (list.countFrom ?? Number.POSITIVE_INFINITY);
  const others = (name: string) => OTHERS.includes(name) || isProject(name) || isCount(name);
  const named = [...query.lists()].filter(([name]) => !others(name) && !(isIgnored(name) && !isAdmin));
  const isStrict = version >= STRICT_FILTERS && list.isUnchecked !== true;
  const invalid = isStrict && !isAdmin ? named.filter(([name]) => !userFilters.includes(name)) : [];
  if (invalid.length > 0) {
    throw badRequest(`Invalid filters ${invalid.map(([name]) => name).join(",")} are found in query options.`);
  }
  return named.flatMap(([name, values]) => {
    const isLike = version >= LIKE_FILTERS && name.endsWith("~");
    const plain = isLike ? name.slice(0, -1) : name;
    const filter = filters[plain];
    if (!isStrict && !isAdmin && !list.isUnchecked && !formerFilters.includes(plain)) {
      return [];
    }
    return filter ? [filter(values.at(-1) ?? "", isLike)] : [isAdmin || list.isUnchecked ? NONE : EVERY];
  });
}

/** The order of lists that clients cannot sort. */
function sortBy(direction: SortKey["direction"]): readonly SortKey[] {
  return ["created_at", "id"].map((attribute) => ({ attribute, direction }));
}

function readFormerPage(call: BlockStorageCall, { isAlwaysLimited }: ListDescription) {
  return isAlwaysLimited ? readPage(call) : { limit: MAX_LIMIT, offset: 0 };
}

function readPage({ query }: BlockStorageCall) {
  const limit = readNumber(query.get("limit") ?? String(MAX_LIMIT), {
    invalid: "limit param must be an integer",
    negative: "limit param must be positive",
  });
  const offset = readNumber(query.get("offset") ?? "0", {
    invalid: "offset must be an integer",
    negative: "offset must be >= 0",
  });
  return { limit: Math.min(limit, MAX_LIMIT), offset, marker: query.get("marker") };
}

/** @throws {HttpError} 400 */
function readNumber(text: string, messages: { readonly invalid: string; readonly negative: string }): number {
  if (!/^[+-]?\d{1,15}$/.test(text.trim())) {
    throw badRequest(messages.invalid);
  }
  const number = Number(text);
  if (number < 0) {
    throw badRequest(messages.negative);
  }
  return number;
}

/** Reads `sort=name:desc,size`, or `sort_key` and `sort_dir`; the newest record is first otherwise. */
function readSort({ query }: BlockStorageCall, sortKeys: readonly string[]): readonly SortKey[] {
  const sort = sortKeys.length === 0 ? undefined : query.get("sort");
  const [key, direction] = [query.get("sort_key"), query.get("sort_dir")];
  if (sort !== undefined && (key !== undefined || direction !== undefined)) {
    throw invalidInput(
      "The 'sort_key' and 'sort_dir' parameters are deprecated and cannot be used with the 'sort' parameter.",
    );
  }
  const isSorted = sortKeys.length > 0;
  const pairs = sort
    ?.trim()
    .split(",")
    .map((part) => part.split(":").map((word) => word.trim())) ?? [
    [(isSorted && key) || "created_at", (isSorted && direction) || "desc"],
  ];
  const read = pairs.map(([name = "", way = "desc"]): SortKey => {
    const attribute = name === "display_name" ? "name" : name;
    if (way !== "asc" && way !== "desc" && way !== "") {
      throw invalidInput("Unknown sort direction, must be 'desc' or 'asc'.");
    }
    if (attribute !== "created_at" && attribute !== "id" && !sortKeys.includes(attribute)) {
      throw invalidInput("Invalid sort key");
    }
    return { attribute, direction: way === "asc" ? "ASC" : "DESC" };
  });
  const first = read[0]?.direction ?? "DESC";
  const missing = ["created_at", "id"].filter((name) => !read.some(({ attribute }) => attribute === name));
  return [...read, ...missing.map((attribute): SortKey => ({ attribute, direction: first }))];
}

function nextLink({ request, query, context }: BlockStorageCall, path: string, marker: string): Json {
  const parameters = new URLSearchParams(query.entries.filter(([name]) => name !== "marker").map(([...pair]) => pair));
  parameters.set("marker", marker);
  return { rel: "next", href: `${request.baseUrl}/v3/${context.caller.projectId}/${path}?${parameters}` };
}
