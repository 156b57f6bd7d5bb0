import { badRequest } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { parseIsoTime, toSeconds } from "../../http/times.js";
import type { Image } from "../image.js";

type Matches = (image: Image) => boolean;

/** Query parameters that are not filters. */
const OTHERS: ReadonlySet<string> = new Set([
  ...["limit", "marker", "member_status", "sort", "sort_key", "sort_dir", "visibility", "tag", "os_hidden", "deleted"],
]);

/** Attributes filtered by one value or several: `name=in:a,b`. */
const STRING_ATTRIBUTES: Readonly<Record<string, (image: Image) => string | null>> = {
  name: ({ name }) => name,
  id: ({ id }) => id,
  status: ({ status }) => status,
  container_format: ({ containerFormat }) => containerFormat,
  disk_format: ({ diskFormat }) => diskFormat,
};

/** Attributes filtered by one value. */
const VALUES: Readonly<Record<string, (image: Image) => string | number | null>> = {
  owner: ({ owner }) => owner,
  checksum: ({ checksum }) => checksum,
  os_hash_algo: ({ hash }) => (hash === null ? null : "sha512"),
  os_hash_value: ({ hash }) => hash,
};

/** Numbers: `size=1`, `size_min=1`, `size_max=2`. */
const NUMBERS: Readonly<Record<string, (image: Image) => number | null>> = {
  size: ({ size }) => size,
  virtual_size: ({ virtualSize }) => virtualSize,
  min_disk: ({ minDisk }) => minDisk,
  min_ram: ({ minRam }) => minRam,
};

const TIMES: Readonly<Record<string, (image: Image) => number>> = {
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
};

const COMPARISONS: Readonly<Record<string, (a: number, b: number) => boolean>> = {
  gt: (a, b) => a > b,
  gte: (a, b) => a >= b,
  lt: (a, b) => a < b,
  lte: (a, b) => a <= b,
  neq: (a, b) => a !== b,
  eq: (a, b) => a === b,
};

/** Returns a predicate for the query's filters. @throws {HttpError} 400 */
export function readFilters(query: Query): Matches {
  if (query.get("changes-since")) {
    throw badRequest('The "changes-since" filter is no longer available on v2.');
  }
  const hidden = flag("os_hidden", (query.get("os_hidden") ?? "false").toLowerCase());
  const tags = query.all("tag").map((tag) => tag.trim());
  const filters = [...query.lists().keys()]
    .filter((name) => !OTHERS.has(name))
    .map((name) => filterOf(name, query.get(name) ?? ""));
  return (image) =>
    image.hidden === hidden &&
    tags.every((tag) => image.tags.includes(tag)) &&
    filters.every((matches) => matches(image));
}

function filterOf(name: string, value: string): Matches {
  const own = <T>(of: Readonly<Record<string, T>>): T | undefined => (Object.hasOwn(of, name) ? of[name] : undefined);
  const text = own(STRING_ATTRIBUTES);
  if (text) {
    const requestedValues = parseTextFilter(value);
    return (image) => requestedValues.has(text(image) ?? "") && text(image) !== null;
  }
  const time = own(TIMES);
  if (time) {
    return timeFilter(name, value, time);
  }
  if (name === "protected") {
    const expected = flag(name, value);
    return (image) => image.protected === expected;
  }
  if (name.endsWith("_min") || name.endsWith("_max")) {
    return rangeFilter(name, value);
  }
  const exact = own(VALUES) ?? own(NUMBERS);
  if (exact) {
    return (image) => exact(image) !== null && String(exact(image)) === value;
  }
  return ({ properties, internal }) => (Object.hasOwn(properties, name) ? properties[name] : internal[name]) === value;
}

function rangeFilter(name: string, value: string): Matches {
  const attribute = name.slice(0, -4);
  const number = Object.hasOwn(NUMBERS, attribute) ? NUMBERS[attribute] : undefined;
  if (!number) {
    throw badRequest(`Unable to filter on a range of ${attribute}: only ${Object.keys(NUMBERS).join(", ")} have one.`);
  }
  if (!/^\s*[+-]?\d+\s*$/.test(value)) {
    throw badRequest("Unable to filter on a range with a non-numeric value.");
  }
  const bound = Number(value);
  return (image) => {
    const found = number(image);
    return found !== null && (name.endsWith("_min") ? found >= bound : found <= bound);
  };
}

function timeFilter(name: string, value: string, time: (image: Image) => number): Matches {
  const [operator, text] = parseIsoTime(value) === undefined ? operatorIn(value) : (["eq", value] as const);
  const threshold = parseIsoTime(text);
  if (threshold === undefined) {
    throw badRequest(`Bad "${name}" query filter format. Use ISO 8601 DateTime notation.`);
  }
  const compare = Object.hasOwn(COMPARISONS, operator) ? COMPARISONS[operator] : undefined;
  if (!compare) {
    throw badRequest("Unable to filter on a unknown operator.");
  }
  return (image) => compare(toSeconds(time(image)), threshold);
}

function parseTextFilter(value: string): ReadonlySet<string> {
  const [operator, text] = operatorIn(value);
  if (operator === "eq") {
    return new Set([text]);
  }
  if (operator === "in") {
    return new Set(quotedParts(text));
  }
  throw badRequest(`Unable to filter by unknown operator '${operator}'.`);
}

/** Splits `in:a,b` into `in` and `a,b`. Without an operator it is `eq`. */
function operatorIn(value: string): readonly [operator: string, text: string] {
  const at = value.indexOf(":");
  return at < 0 ? ["eq", value] : [value.slice(0, at), value.slice(at + 1)];
}

/** Splits `a,"b,c"` into `a` and `b,c`. @throws {HttpError} 400 */
function quotedParts(text: string): readonly string[] {
  const PART = /\s*(?:"((?:[^"\\]|\\.)*)"|([^",]*))\s*(?:,|$)/y;
  const parts: string[] = [];
  for (let at = 0; at <= text.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const match = PART.exec(text);
    if (!match) {
      throw badRequest(
        `Invalid filter value ${text}. The quote is not closed, or there is no comma before or after a quotation mark.`,
      );
    }
    parts.push(match[1]?.replaceAll(/\\(.)/g, "$1") ?? match[2] ?? "");
    if (PART.lastIndex >= text.length && !match[0].endsWith(",")) {
      break;
    }
  }
  return parts;
}

function flag(name: string, value: string): boolean {
  if (value !== "true" && value !== "false") {
    throw badRequest(`Invalid value '${value}' for '${name}' filter. Valid values are 'true' or 'false'.`);
  }
  return value === "true";
}
