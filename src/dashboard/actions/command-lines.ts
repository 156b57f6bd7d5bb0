import { quoted } from "../../control-plane/identity/openrc.js";
import type { ActionBody } from "../wire/actions.js";

/** `{host}` stands for the value of a field; `[--name {name}]` is left out where its field is empty. */
const PART = /\[([^\]]*)\]/g;
const FIELD = /\{(\w+)\}/g;

/** Command lines with the values of fields, quoted for a shell. */
export function commandLines(lines: readonly string[], body: ActionBody): readonly string[] {
  return lines.map((line) => filled(line, body, quoted));
}

/** The words of a command line, as a program takes them: a value is one word, whatever is in it. */
export function wordsOf(line: string, body: ActionBody): readonly string[] {
  const values: string[] = [];
  const marked = filled(line, body, (value) => `\0${values.push(value) - 1}\0`);
  return marked.split(" ").map((word) => word.replace(/\0(\d+)\0/g, (_, index) => values[Number(index)] ?? ""));
}

function filled(line: string, body: ActionBody, quote: (value: string) => string): string {
  const getValue = (name: string): string | boolean => (Object.hasOwn(body, name) ? (body[name] ?? "") : "");
  return line
    .replace(PART, (_, part: string) => {
      const names = [...part.matchAll(FIELD)].map(([, name = ""]) => name);
      const isEmpty = names.some((name) => getValue(name) === "" || getValue(name) === false);
      return isEmpty ? "" : part;
    })
    .replace(FIELD, (_, name: string) => {
      const value = getValue(name);
      return value === true ? "" : quote(String(value));
    })
    .replace(/ {2,}/g, " ")
    .trim();
}
