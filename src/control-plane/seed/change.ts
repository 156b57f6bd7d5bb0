import { isObject } from "../../runtime/collections.js";

/** A change that makes a cluster match its file. */
export interface Change {
  /** `+`: added; `~`: changed; `-`: removed. */
  readonly sign: "+" | "~" | "-";
  /** `host rack[01-20]`, `flavor m1.tiny: ram 512 -> 1024` */
  readonly text: string;
  /** Loses data that the file alone cannot restore, so the user must confirm. */
  readonly destroys: boolean;
}

/** A change of the database. */
export interface SeedStep extends Change {
  /** Runs in the transaction of all changes. */
  readonly apply: () => void;
  /** Slow work after the commit; repeated at the next start if it was interrupted. */
  readonly after?: () => Promise<void>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields that differ, in the form `ram 512 -> 1024`. */
export function fieldChanges(before: Fields, after: Fields): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => textOf(before[name]) !== textOf(after[name]))
    .map((name) => `${name} ${plain(before[name])} -> ${plain(after[name])}`);
}

/** Omits the fields that have their default values. */
export function withoutDefaults<T extends object>(value: T, defaults: Fields): Partial<T> {
  const entries = Object.entries(value).filter(
    ([name, one]) => one !== undefined && textOf(one) !== textOf(defaults[name]),
  );
  return Object.fromEntries(entries) as Partial<T>;
}

/** Serializes a value so that equal values are equal strings; the order of members does not matter. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => (isObject(one) ? Object.fromEntries(sorted(one)) : one)) ?? "";
}

const sorted = (value: object) => Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));

function plain(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "unset");
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}
