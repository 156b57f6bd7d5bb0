import type { ServiceResponse } from "../../../src/runtime/http-server.js";

/** An answer with everything taken out that differs from one run to the next, or that has no defined order. */
export interface Normalized {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Headers of the API; all others belong to the HTTP server. */
const COMPARED = [
  "content-type",
  "openstack-api-version",
  "vary",
  "allow",
  "location",
  "cache-control",
  "www-authenticate",
];
/** Headers whose presence alone is compared. */
const PRESENT = ["last-modified", "x-openstack-request-id"];

/** UUIDs that a server has chosen itself; those of the pools repeat their second group. */
const CHOSEN = /[0-9a-f]{8}-(?!([0-9a-f])\1{3}-)[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g;

export function normalize({ status, headers, body }: ServiceResponse): Normalized {
  const compared: Record<string, string> = {};
  for (const name of COMPARED) {
    if (headers[name] !== undefined) {
      compared[name] = headers[name].replace(CHOSEN, "uuid-…");
    }
  }
  for (const name of PRESENT) {
    if (headers[name] !== undefined) {
      compared[name] = "present";
    }
  }
  return { status, headers: compared, body: parse(body.replace(CHOSEN, "uuid-…")) };
}

function parse(body: string): unknown {
  try {
    return ordered(JSON.parse(body), "");
  } catch {
    return body.replace(/req-[0-9a-f-]{36}/g, "req-…");
  }
}

/** Lists whose order Placement does not define. */
const UNORDERED = new Set([
  "resource_providers",
  "resource_classes",
  "traits",
  "aggregates",
  "allocation_requests",
  "mapping",
  "allocations",
]);

function ordered(value: unknown, key: string): unknown {
  if (key === "request_id") {
    return "req-…";
  }
  if (key === "detail" && typeof value === "string") {
    return withoutOrder(value);
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => ordered(item, ""));
    return UNORDERED.has(key) ? items.sort((a, b) => compare(JSON.stringify(a), JSON.stringify(b))) : items;
  }
  // The same number, however it was spelled.
  if (Object.is(value, -0)) {
    return 0;
  }
  if (typeof value !== "object" || value === null) {
    return value;
  }
  const entries = Object.entries(value).map(([name, item]): [string, unknown] => [
    name,
    ordered(item, key === "mappings" ? "mapping" : name),
  ]);
  return Object.fromEntries(entries.sort(([a], [b]) => compare(a, b)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The parts of texts that list what is in a Python set. */
const LISTS = [
  /No such trait ([^(][^\n]*?) {2}/,
  /Inventory for '([^']*)' on resource provider/,
  /on resource provider '([^']*)'/,
  /bad group\(s\) - \[([^\]]*)\]/,
  /`same_subtree`: \[([^\]]*)\] not found/,
  /found in root_required: ([^\n]*?) {2}/,
];

function withoutOrder(text: string): string {
  return LISTS.reduce((found, pattern) => {
    return found.replace(pattern, (match, list: string) => match.replace(list, list.split(", ").sort().join(", ")));
  }, text);
}
