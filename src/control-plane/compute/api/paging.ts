import type { Call } from "./call.js";
import { badRequest } from "./fault.js";

/** Entries that a list answers with at most; Nova's default of `[api] max_limit`. */
const MAX_LIMIT = 1000;

export interface Page {
  readonly limit: number;
  readonly marker: string | undefined;
}

/** @throws {Fault} 400 */
export function readPage({ query }: Pick<Call, "query">): Page {
  const text = query.get("limit");
  if (text !== undefined && !/^\d{1,9}$/.test(text)) {
    throw badRequest(/^-/.test(text) ? "limit must be >= 0" : "limit param must be an integer");
  }
  const marker = query.get("marker");
  return { limit: Math.min(text === undefined ? MAX_LIMIT : Number(text), MAX_LIMIT), marker };
}

/** The members of one page of a list that is in its order. @throws {Fault} 400 the marker is not in the list */
export function takePage<T>(members: readonly T[], { limit, marker }: Page, id: (member: T) => string): readonly T[] {
  const start = marker === undefined ? 0 : members.findIndex((member) => id(member) === marker) + 1;
  if (marker !== undefined && start === 0) {
    throw badRequest(`marker [${marker}] not found`);
  }
  return members.slice(start, start + limit);
}
