import type { Query } from "../../http/request.js";
import { badRequest } from "../api/fault.js";
import type { Image } from "../images.js";

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

type Key = keyof typeof KEYS;
type Direction = "asc" | "desc";

/** Compares images in the order that is asked for: by default the newest first. @throws {ImageFault} 400 */
export function readOrder(query: Query): (a: Image, b: Image) => number {
  const order = query.get("sort") === undefined ? classic(query) : combined(query);
  return (a, b) => {
    for (const [key, direction] of order) {
      const compared = compare(KEYS[key](a), KEYS[key](b));
      if (compared !== 0) {
        return direction === "asc" ? compared : -compared;
      }
    }
    return 0;
  };
}

type Order = readonly (readonly [Key, Direction])[];

/** `sort=name:asc,size` */
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

/** `sort_key=name&sort_dir=asc&sort_key=size&sort_dir=desc` */
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

/** No two images are equal in an order. */
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

/** What is not known comes before all else. */
function compare(a: string | number | null, b: string | number | null): number {
  if (a === b) {
    return 0;
  }
  if (a === null || b === null) {
    return a === null ? -1 : 1;
  }
  return a < b ? -1 : 1;
}
