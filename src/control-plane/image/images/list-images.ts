import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { json } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { requirePolicy, sees } from "../api/policy.js";
import type { Image } from "../image.js";
import { imageView } from "./image-attributes.js";
import { readFilters } from "./list-filters.js";

type Key = keyof typeof KEYS;

type Direction = "asc" | "desc";

type Order = readonly (readonly [Key, Direction])[];

const KEYS = {
  name: ({ name }) => name,
  status: ({ status }) => status,
  container_format: ({ containerFormat }) => containerFormat,
  disk_format: ({ diskFormat }) => diskFormat,
  size: ({ size }) => size,
  id: ({ id }) => id,
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
} as const satisfies Readonly<Record<string, (image: Image) => string | number | null>>;

const VISIBILITIES = ["community", "public", "private", "shared", "all"];

const MEMBER_STATUSES = ["pending", "accepted", "rejected", "all"];

/** Glance's `limit_param_default` and `api_limit_max`. */
const PAGE = 25;

const LONGEST_PAGE = 1000;

/** Handles GET /v2/images. @throws {HttpError} 400, 403 */
export function listImages(call: ImageCall): ServiceResponse {
  const query = call.boundQuery();
  const limit = readLimit(query);
  const compare = readOrder(query);
  const matches = readFilters(query);
  requirePolicy(call.caller, "get_images");
  const found = listedImages(call).filter(matches).sort(compare);
  const marker = findMarker(call, query.get("marker"));
  const rest = marker === undefined ? found : found.filter((image) => compare(image, marker) > 0);
  const page = rest.slice(0, limit);
  const last = page.length === limit ? page.at(-1) : undefined;
  return json(200, {
    images: page.map(imageView),
    ...pageLinks("/v2/images", query, last?.id),
    schema: "/v2/schemas/images",
  });
}

/**
 * Returns the links of a list to its first and its next page.
 * @param marker the last member of the page; undefined on the last page
 */
export function pageLinks(path: string, query: Query, marker: string | undefined): Readonly<Record<string, string>> {
  const params = new Map(query.entries);
  params.delete("marker");
  const link = (text: string): string => (text === "" ? path : `${path}?${text}`);
  const first = link(new URLSearchParams([...params]).toString());
  return marker === undefined
    ? { first }
    : { first, next: link(new URLSearchParams([...params, ["marker", marker]]).toString()) };
}

function readLimit(query: Query): number {
  const text = query.get("limit");
  if (text === undefined) {
    return PAGE;
  }
  if (!/^\s*[+-]?\d+\s*$/.test(text)) {
    throw badRequest("limit param must be an integer");
  }
  const limit = Number(text);
  if (limit < 0) {
    throw badRequest("limit param must be positive");
  }
  return Math.min(limit, LONGEST_PAGE);
}

/** Returns the marker's image, which need not match the filters. */
function findMarker({ store, caller }: ImageCall, id: string | undefined): Image | undefined {
  if (id === undefined) {
    return undefined;
  }
  const image = store.table.get(id);
  const isMember = caller.projectId !== null && store.members.get(id, caller.projectId) !== undefined;
  if (!image || !sees(caller, image, isMember)) {
    throw badRequest(`No image found with ID ${id}`);
  }
  return image;
}

/**
 * Returns the images that the caller may list. Images shared with the caller's project need the requested
 * `member_status`. Community images of other projects are included only on request.
 * @throws {HttpError} 400
 */
function listedImages({ store, caller, query, isAdmin }: ImageCall): Image[] {
  const visibility = query.get("visibility");
  if (visibility !== undefined && visibility !== "" && !VISIBILITIES.includes(visibility)) {
    throw badRequest(`Invalid visibility value: ${visibility}`);
  }
  const memberStatus = query.get("member_status") ?? "accepted";
  if (!MEMBER_STATUSES.includes(memberStatus)) {
    throw badRequest(`Invalid status: ${memberStatus}`);
  }
  const { projectId } = caller;
  const shared = isAdmin || projectId === null ? new Map<string, string>() : store.members.of(projectId);
  return store.table.list().filter((image) => {
    const memberAcceptance = shared.get(image.id);
    const isMember = memberAcceptance !== undefined && (memberStatus === "all" || memberAcceptance === memberStatus);
    return sees(caller, image, isMember) && matchesVisibility(image, visibility, projectId);
  });
}

function matchesVisibility(image: Image, visibility: string | undefined, projectId: string | null): boolean {
  if (visibility === undefined || visibility === "") {
    return image.visibility !== "community" || (projectId !== null && image.owner === projectId);
  }
  return visibility === "all" || image.visibility === visibility;
}

/** Returns a comparison for the requested order. The default is newest first. @throws {HttpError} 400 */
function readOrder(query: Query): (a: Image, b: Image) => number {
  const order = query.get("sort") === undefined ? classic(query) : combined(query);
  return (a, b) => {
    for (const [key, direction] of order) {
      const compared = compareValues(KEYS[key](a), KEYS[key](b));
      if (compared !== 0) {
        return direction === "asc" ? compared : -compared;
      }
    }
    return 0;
  };
}

/** Parses `sort=name:asc,size`. */
function combined(query: Query): Order {
  if (query.get("sort_key") !== undefined || query.get("sort_dir") !== undefined) {
    throw badRequest("Old and new sorting syntax cannot be combined");
  }
  const order = (query.get("sort") ?? "")
    .trim()
    .split(",")
    .map((part): readonly [Key, Direction] => {
      const [key = "", direction = ""] = part.split(":");
      return [keyOf(key), directionOf(direction === "" ? "desc" : direction)];
    });
  return complete(order, order.length === 1 ? (order[0]?.[1] ?? "desc") : "desc");
}

/** Parses `sort_key=name&sort_dir=asc&sort_key=size&sort_dir=desc`. */
function classic(query: Query): Order {
  const requestedKeys = query.all("sort_key").map(keyOf);
  const directions = query.all("sort_dir").map(directionOf);
  if (directions.length > 1 && directions.length !== requestedKeys.length) {
    throw badRequest("Number of sort dirs does not match the number of sort keys");
  }
  const keys: readonly Key[] = requestedKeys.length === 0 ? ["created_at"] : requestedKeys;
  const common = directions.length === 1 ? (directions[0] ?? "desc") : "desc";
  return complete(
    keys.map((key, index) => [key, directions.length > 1 ? (directions[index] ?? common) : common]),
    common,
  );
}

/** Appends keys that make the order total. */
function complete(order: Order, direction: Direction): Order {
  const missing = (["created_at", "id"] as const).filter((key) => !order.some(([orderedKey]) => orderedKey === key));
  return [...order, ...missing.map((key) => [key, direction] as const)];
}

function keyOf(text: string): Key {
  const key = text.trim();
  if (!Object.hasOwn(KEYS, key)) {
    const known = Object.keys(KEYS).join(", ");
    throw badRequest(`Invalid sort key: ${key}. It must be one of the following: ${known}.`);
  }
  return key as Key;
}

function directionOf(text: string): Direction {
  const direction = text.trim();
  if (direction !== "asc" && direction !== "desc") {
    throw badRequest(`Invalid sort direction: ${direction}`);
  }
  return direction;
}

/** Compares two values; null comes first. */
function compareValues(a: string | number | null, b: string | number | null): number {
  if (a === b) {
    return 0;
  }
  if (a === null || b === null) {
    return a === null ? -1 : 1;
  }
  return a < b ? -1 : 1;
}
