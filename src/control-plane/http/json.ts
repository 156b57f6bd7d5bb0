import type { EventLoopTicks } from "../event-loop.js";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

/** Max members of a list that are serialized at once. */
const MEMBERS = 500;

/** Serializes a response. A long list is serialized in pieces, with event-loop ticks for other requests in between. */
export function jsonText(body: Json, ticks: EventLoopTicks): string | Promise<string> {
  const isLong = typeof body === "object" && body !== null && Object.values(body).some(isLongList);
  return isLong && !Array.isArray(body) ? inPieces(body as Members, ticks) : JSON.stringify(body);
}

type Members = Readonly<Record<string, Json>>;

const isLongList = (value: Json): value is readonly Json[] => Array.isArray(value) && value.length > MEMBERS;

async function inPieces(body: Members, ticks: EventLoopTicks): Promise<string> {
  const members: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = isLongList(value) ? await listText(value, ticks) : JSON.stringify(value);
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
    pieces.push(JSON.stringify(list.slice(from, from + MEMBERS)).slice(1, -1));
  }
  return `[${pieces.join(",")}]`;
}
