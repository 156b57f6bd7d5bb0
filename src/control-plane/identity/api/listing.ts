import type { Json } from "../../http/json.js";
import { isSameName } from "../name-key.js";
import type { IdentityCall } from "./identity-call.js";

type Members = Readonly<Record<string, unknown>>;

/** Ways to compare texts that a parameter's name ends in: `name__contains`. */
const COMPARISONS: Readonly<Record<string, (found: string, value: string) => boolean>> = {
  contains: (found, value) => found.includes(value),
  icontains: (found, value) => found.toLowerCase().includes(value.toLowerCase()),
  startswith: (found, value) => found.startsWith(value),
  istartswith: (found, value) => found.toLowerCase().startsWith(value.toLowerCase()),
  endswith: (found, value) => found.endsWith(value),
  iendswith: (found, value) => found.toLowerCase().endsWith(value.toLowerCase()),
};

/** The body of a list: what the query's filters let through, no more than its `limit`, from after its `marker` on. */
export function listBody(
  call: IdentityCall,
  plural: string,
  records: readonly Members[],
  filters: readonly string[] = [],
): Json {
  const found = records.filter((record) => passes(call, record, filters));
  const marker = call.query.get("marker");
  const from = marker === undefined ? 0 : found.findIndex(({ id }) => id === marker) + 1;
  const limit = limitOf(call);
  const page = found.slice(from, limit === undefined ? undefined : from + limit);
  const truncated = from + page.length < found.length;
  const links = { next: truncated ? nextPage(call, String(page.at(-1)?.id)) : null, self: call.url, previous: null };
  return { [plural]: page as unknown as Json, links, ...(truncated ? { truncated: true } : {}) };
}

function passes(call: IdentityCall, record: Members, filters: readonly string[]): boolean {
  return call.query.entries.every(([parameter, filterValue]) => {
    const [name = "", comparison] = parameter.split("__");
    if (!filters.includes(name)) {
      return true;
    }
    const found = record[name];
    if (comparison !== undefined) {
      return COMPARISONS[comparison]?.(String(found ?? ""), filterValue) ?? true;
    }
    if (typeof found === "boolean") {
      return found === !["0", "false", "no", "off", "f", "n"].includes(filterValue.toLowerCase());
    }
    if (found === undefined || found === null) {
      return filterValue === "";
    }
    // Keystone keeps a service's name outside of the columns that its database compares.
    return "type" in record && name === "name" ? found === filterValue : isSameName(String(found), filterValue);
  });
}

function limitOf({ query }: IdentityCall): number | undefined {
  const limit = Number(query.get("limit"));
  return Number.isInteger(limit) && limit > 0 ? limit : undefined;
}

function nextPage({ request, query }: IdentityCall, marker: string): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of query.entries.filter(([name]) => name !== "marker")) {
    parameters.append(name, value);
  }
  parameters.set("marker", marker);
  return `${request.baseUrl}${request.path}?${parameters}`;
}
