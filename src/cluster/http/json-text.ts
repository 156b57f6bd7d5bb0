import type { Turns } from "../turns.js";
import type { Json } from "./json.js";

/** Members of a list that are written in one go. */
const MEMBERS = 500;

/** The text of an answer; a long list in it is written in pieces, between which others get their turn. */
export async function jsonText(body: Json, turns: Turns): Promise<string> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    return JSON.stringify(body);
  }
  const members: string[] = [];
  for (const [name, value] of Object.entries(body)) {
    const text = Array.isArray(value) && value.length > MEMBERS ? await listText(value, turns) : JSON.stringify(value);
    if (text !== undefined) {
      members.push(`${JSON.stringify(name)}:${text}`);
    }
  }
  return `{${members.join(",")}}`;
}

async function listText(list: readonly Json[], turns: Turns): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < list.length; from += MEMBERS) {
    if (turns.due) {
      await turns.give();
    }
    pieces.push(JSON.stringify(list.slice(from, from + MEMBERS)).slice(1, -1));
  }
  return `[${pieces.join(",")}]`;
}
