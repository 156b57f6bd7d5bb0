/**
 * JSON with content that `JSON.stringify` cannot write: numbers with a given spelling, and generations that are
 * inserted when sent.
 */
export type Json =
  | null
  | boolean
  | number
  | string
  | Spelled
  | GenerationOf
  | readonly Json[]
  | { readonly [key: string]: Json };

/** A literal text: `4.0`, `1e400`, `NaN`. */
export class Spelled {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The generation of a provider or consumer at the time of sending, plus `offset`. */
export class GenerationOf {
  readonly uuid: string;
  readonly offset: number;

  constructor(uuid: string, offset = 0) {
    this.uuid = uuid;
    this.offset = offset;
  }
}

/** Writes JSON. `generation` returns an object's generation, or null if it does not exist. */
export function writeJson(value: Json, generation: (uuid: string) => number | null): string {
  if (value instanceof Spelled) {
    return value.text;
  }
  if (value instanceof GenerationOf) {
    const found = generation(value.uuid);
    return found === null ? "null" : String(found + value.offset);
  }
  if (Array.isArray(value)) {
    return `[${value.map((item) => writeJson(item, generation)).join(", ")}]`;
  }
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value as Record<string, Json>);
    return `{${members.map(([key, item]) => `${JSON.stringify(key)}: ${writeJson(item, generation)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** Returns a copy in which a value is replaced, removed or added; `at` selects the path. */
export function mutate(value: Json, at: number, change: Mutation): Json {
  const places = pathsOf(value);
  const path = places[at % places.length] ?? [];
  return alter(value, path, change);
}

export type Mutation = { readonly kind: "replace" | "add"; readonly junk: Json } | { readonly kind: "remove" };

type Path = readonly (string | number)[];

function isContainer(value: Json): value is readonly Json[] | { readonly [key: string]: Json } {
  return typeof value === "object" && value !== null && !(value instanceof Spelled) && !(value instanceof GenerationOf);
}

function pathsOf(value: Json): Path[] {
  if (!isContainer(value)) {
    return [[]];
  }
  const entries: [string | number, Json][] = Array.isArray(value) ? [...value.entries()] : Object.entries(value);
  return [[], ...entries.flatMap(([key, item]) => pathsOf(item).map((path) => [key, ...path]))];
}

function alter(value: Json, path: Path, change: Mutation): Json {
  const [key, ...rest] = path;
  if (key === undefined) {
    if (change.kind === "replace") {
      return change.junk;
    }
    if (change.kind === "add" && isContainer(value)) {
      return Array.isArray(value) ? [...value, change.junk] : { ...value, extra: change.junk };
    }
    return value;
  }
  if (!isContainer(value)) {
    return value;
  }
  if (Array.isArray(value)) {
    if (change.kind === "remove" && rest.length === 0) {
      return value.filter((_, index) => index !== key);
    }
    return value.map((item, index) => (index === key ? alter(item, rest, change) : item));
  }
  const entries = Object.entries(value);
  const retainedEntries =
    change.kind === "remove" && rest.length === 0 ? entries.filter(([name]) => name !== key) : entries;
  return Object.fromEntries(
    retainedEntries.map(([name, item]) => [name, name === key ? alter(item, rest, change) : item]),
  );
}
