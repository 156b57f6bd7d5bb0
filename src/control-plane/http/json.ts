import type { EventLoopTicks } from "../event-loop.js";

/** A JSON value. A `bigint` is a number that needs more than 53 bits. */
export type Json = null | boolean | number | bigint | string | readonly Json[] | { readonly [key: string]: Json };

/** Max members of a list that are serialized at once. */
const MEMBERS = 500;

/** Serializes a response. A long list is serialized in pieces, with event-loop ticks for other requests in between. */
export function jsonText(body: Json, ticks: EventLoopTicks): string | Promise<string> {
  const isLong = typeof body === "object" && body !== null && Object.values(body).some(isLongList);
  return isLong && !Array.isArray(body) ? inPieces(body as Members, ticks) : stringify(body);
}

/** Like `JSON.stringify`, which rejects a `bigint`. */
function stringify(value: Json): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (error instanceof TypeError) {
      return write(value);
    }
    throw error;
  }
}

function write(value: Json): string {
  if (typeof value === "bigint") {
    return String(value);
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  if (Array.isArray(value)) {
    return `[${value.map(write).join(",")}]`;
  }
  const members = Object.entries(value).filter(([, member]) => member !== undefined);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${write(member)}`).join(",")}}`;
}

type Members = Readonly<Record<string, Json>>;

const isLongList = (value: Json): value is readonly Json[] => Array.isArray(value) && value.length > MEMBERS;

async function inPieces(body: Members, ticks: EventLoopTicks): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = isLongList(value) ? await listText(value, ticks) : stringify(value);
    if (text !== undefined) {
      members.push(`${JSON.stringify(name)}:${text}`);
    }
  }
  return `{${members.join(",")}}`;
}

async function listText(list: readonly Json[], ticks: EventLoopTicks): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < list.length; from += MEMBERS) {
    if (ticks.due) {
      await ticks.give();
    }
    pieces.push(stringify(list.slice(from, from + MEMBERS)).slice(1, -1));
  }
  return `[${pieces.join(",")}]`;
}
