import type { Json } from "../../http/json.js";
import { isSameName } from "../name-key.js";
import type { IdentityCall } from "./identity-call.js";

type Members = Readonly<Record<string, unknown>>;

/** Ways to compare texts that a parameter's name ends in: `name__contains`. */
const COMPARISONS: Readonly<Record<string, (found: string, wanted: string) => boolean>> = {
  contains: (found, wanted) => found.includes(wanted),
  icontains: (found, wanted) => found.toLowerCase().includes(wanted.toLowerCase()),
  startswith: (found, wanted) => found.startsWith(wanted),
  istartswith: (found, wanted) => found.toLowerCase().startsWith(wanted.toLowerCase()),
  endswith: (found, wanted) => found.endsWith(wanted),
  iendswith: (found, wanted) => found.toLowerCase().endsWith(wanted.toLowerCase()),
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
  return call.query.entries.every(([parameter, wanted]) => {
    const [name = "", comparison] = parameter.split("__");
    if (!filters.includes(name)) {
      return true;
    }
    const found = record[name];
    if (comparison !== undefined) {
      return COMPARISONS[comparison]?.(String(found ?? ""), wanted) ?? true;
    }
    if (typeof found === "boolean") {
      return found === !["0", "false", "no", "off", "f", "n"].includes(wanted.toLowerCase());
    }
    if (found === undefined || found === null) {
      return wanted === "";
    }
    // Keystone keeps a service's name outside of the columns that its database compares.
    return "type" in record && name === "name" ? found === wanted : isSameName(String(found), wanted);
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
