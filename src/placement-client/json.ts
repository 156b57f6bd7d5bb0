import { isObject } from "../runtime/collections.js";
import { PlacementError } from "./errors.js";

/** Readers of external JSON. Each throws DiscoveryFailure if the value does not have the type in its name. */

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new PlacementError("DiscoveryFailure", `expected JSON, found ${excerpt(text)}`, undefined, {
      cause: error,
    });
  }
}

export function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (isObject(value)) {
    return value;
  }
  throw unexpected("an object", value);
}

export function asArray(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) {
    return value;
  }
  throw unexpected("a list", value);
}

export function asString(value: unknown): string {
  if (typeof value === "string") {
    return value;
  }
  throw unexpected("a string", value);
}

export function asStrings(value: unknown): string[] {
  return asArray(value).map(asString);
}

export function asStringOrNull(value: unknown): string | null {
  return value === null || value === undefined ? null : asString(value);
}

export function asNumber(value: unknown): number {
  if (typeof value === "number") {
    return value;
  }
  throw unexpected("a number", value);
}

/** Applies `read` to each value of an object. */
export function mapRecord<T>(value: unknown, read: (member: unknown, key: string) => T): Record<string, T> {
  return Object.fromEntries(Object.entries(asRecord(value)).map(([key, member]) => [key, read(member, key)]));
}

function unexpected(expected: string, found: unknown): PlacementError {
  return new PlacementError(
    "DiscoveryFailure",
    `expected ${expected} in the response, found ${excerpt(JSON.stringify(found) ?? "nothing")}`,
  );
}

const excerpt = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}…` : text || "nothing");
