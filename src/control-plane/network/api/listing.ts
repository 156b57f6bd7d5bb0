import { badRequest, HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { pythonRepr } from "../../python/repr.js";
import { invalidInput, type NetworkCall } from "./call.js";

/** Renders the attributes of a record. */
export type Attributes<T> = Readonly<Record<string, (record: T, call: NetworkCall) => Json>>;

/** Query parameters that are not filters. */
const OTHERS = ["fields", "limit", "marker", "page_reverse", "sort_key", "sort_dir", "verbose"];
/** Filters by tags. A record passes depending on whether it has all, or any, of the tags. */
const TAG_FILTERS: Readonly<Record<string, (all: boolean, any: boolean) => boolean>> = {
  tags: (all) => all,
  "tags-any": (_all, any) => any,
  "not-tags": (all) => !all,
  "not-tags-any": (_all, any) => !any,
};

/**
 * Renders the requested attributes of a record.
 * @param fields their names; empty for all
 */
export function view<T>(
  call: NetworkCall,
  attributes: Attributes<T>,
  record: T,
  fields = requestedFields(call),
): Readonly<Record<string, Json>> {
  const selected = Object.entries(attributes).filter(([name]) => fields.size === 0 || fields.has(name));
  return Object.fromEntries(selected.map(([name, read]) => [name, read(record, call)]));
}

function requestedFields({ query }: NetworkCall): ReadonlySet<string> {
  return new Set(query.all("fields").flatMap((field) => field.split(",")));
}

/** Returns a page of the records that match the query's filters. @throws {HttpError} 400, 404 */
export async function listPage<T>(
  call: NetworkCall,
  plural: string,
  attributes: Attributes<T>,
  records: readonly T[],
): Promise<Json> {
  const filters = readFilters(call, attributes);
  const found: T[] = [];
  for (const record of records) {
    await giveTurn(call);
    if (filters.every((passes) => passes(record))) {
      found.push(record);
    }
  }
  const ordered = sorted(call, attributes, found);
  const reverse = call.query.get("page_reverse")?.toLowerCase() === "true";
  const limit = readLimit(call);
  const idOf = (record: T | undefined): Json => (record === undefined ? null : (attributes.id?.(record, call) ?? null));
  const marker = call.query.get("marker");
  const at = marker === undefined ? undefined : ordered.findIndex((record) => idOf(record) === marker);
  if (at === -1) {
    throw new HttpError(404, `Marker ${marker} could not be found.`, { code: "MarkerNotFound" });
  }
  const [from, to] = reverse
    ? [Math.max(0, (at ?? ordered.length) - (limit ?? ordered.length)), at ?? ordered.length]
    : [(at ?? -1) + 1, limit === undefined ? ordered.length : (at ?? -1) + 1 + limit];
  const page = ordered.slice(from, to);
  const views: Json[] = [];
  for (const record of page) {
    await giveTurn(call);
    views.push(view(call, attributes, record));
  }
  const links = [
    ...(to < ordered.length && page.length > 0 ? [link(call, "next", idOf(page.at(-1)))] : []),
    ...(from > 0 && page.length > 0 ? [link(call, "previous", idOf(page[0]))] : []),
  ];
  return { [plural]: views, ...(limit !== undefined && links.length > 0 ? { [`${plural}_links`]: links } : {}) };
}

async function giveTurn({ ticks }: NetworkCall): Promise<void> {
  if (ticks.due) {
    await ticks.give();
  }
}

function readFilters<T>(call: NetworkCall, attributes: Attributes<T>): readonly ((record: T) => boolean)[] {
  const filters = [...call.query.lists()].filter(([name]) => !OTHERS.includes(name));
  const unknown = filters
    .map(([name]) => name)
    .filter((name) => !Object.hasOwn(attributes, name) && !Object.hasOwn(TAG_FILTERS, name));
  if (unknown.length > 0) {
    throw badRequest(`${pythonRepr(unknown)} is invalid attribute for filtering`);
  }
  return filters.map(([name, values]) => {
    const passes = TAG_FILTERS[name];
    if (passes) {
      const requestedTags = values.flatMap((value) => value.split(","));
      return (record: T) => {
        const tags = attributes.tags?.(record, call);
        const has = (tag: string) => Array.isArray(tags) && tags.includes(tag);
        return passes(requestedTags.every(has), requestedTags.some(has));
      };
    }
    const read = attributes[name];
    return (record: T) => read !== undefined && values.some((value) => matches(read(record, call), value));
  });
}

/** A list matches if one of its members does. An object is matched by one property: `ip_address=10.0.0.7`. */
function matches(found: Json, expected: string): boolean {
  if (Array.isArray(found)) {
    return found.some((item: Json) => matches(item, expected));
  }
  if (typeof found === "object" && found !== null) {
    const at = expected.indexOf("=");
    const [name, value] = [expected.slice(0, at), expected.slice(at + 1)];
    return at > 0 && Object.entries(found).some(([key, one]) => key === name && matches(one, value));
  }
  if (typeof found === "boolean") {
    return found === ["true", "1", "t", "yes"].includes(expected.toLowerCase());
  }
  return String(found ?? "") === expected || (found === null && expected === "None");
}

function sorted<T>(call: NetworkCall, attributes: Attributes<T>, records: T[]): T[] {
  const keys = call.query.all("sort_key");
  const directions = call.query.all("sort_dir");
  if (keys.length === 0) {
    return records;
  }
  if (keys.length !== directions.length && directions.length > 0) {
    throw badRequest("The number of sort_keys and sort_dirs must be same");
  }
  const order = keys.map((key, index) => {
    const read = Object.hasOwn(attributes, key) ? attributes[key] : undefined;
    if (!read) {
      throw badRequest(`${pythonRepr([key])} is invalid attribute for sort_key`);
    }
    return { read, sign: directionOf(directions[index] ?? "asc") };
  });
  const keyed = records.map((record) => ({ record, values: order.map(({ read }) => read(record, call)) }));
  keyed.sort((a, b) => {
    for (const [index, { sign }] of order.entries()) {
      const compared = compare(a.values[index] ?? null, b.values[index] ?? null);
      if (compared !== 0) {
        return compared * sign;
      }
    }
    return 0;
  });
  return keyed.map(({ record }) => record);
}

function directionOf(text: string): 1 | -1 {
  if (text !== "asc" && text !== "desc") {
    throw badRequest(`sort_dirs contains invalid value: ${text}; expected asc or desc`);
  }
  return text === "asc" ? 1 : -1;
}

function compare(a: Json, b: Json): number {
  if (typeof a === "number" && typeof b === "number") {
    return a - b;
  }
  const [first, second] = [a, b].map((value) => (typeof value === "string" ? value : JSON.stringify(value)));
  return first === second ? 0 : String(first) < String(second) ? -1 : 1;
}

/** Returns undefined if there is no paging. */
function readLimit({ query }: NetworkCall): number | undefined {
  const text = query.get("limit");
  if (text === undefined) {
    return undefined;
  }
  if (!/^\d{1,9}$/.test(text)) {
    throw invalidInput("limit", `'${text}' is not a non-negative integer.`);
  }
  return text === "0" ? undefined : Number(text);
}

function link({ request, query }: NetworkCall, rel: "next" | "previous", marker: Json): Json {
  const parameters = new URLSearchParams();
  for (const [name, value] of query.entries.filter(([name]) => name !== "marker" && name !== "page_reverse")) {
    parameters.append(name, value);
  }
  parameters.set("marker", String(marker));
  if (rel === "previous") {
    parameters.set("page_reverse", "True");
  }
  return { rel, href: `${request.baseUrl}${request.path}?${parameters}` };
}
