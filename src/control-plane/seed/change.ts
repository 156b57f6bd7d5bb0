import { isObject } from "../../runtime/collections.js";

/** One thing that is done to a cluster so that it is as its file says. */
export interface Change {
  /** `+`: something new; `~`: something else than before; `-`: it goes. */
  readonly sign: "+" | "~" | "-";
  /** `host rack[01-20]`, `flavor m1.tiny: ram 512 -> 1024` */
  readonly text: string;
  /** Something is lost that the file alone does not bring back: a person is asked. */
  readonly destroys: boolean;
}

/** A change of the state of record. */
export interface SeedStep extends Change {
  /** Within the transaction of all of them. */
  readonly apply: () => void;
  /** What takes its time, once all is stored; done again at the next start if it was not done to its end. */
  readonly after?: () => Promise<void>;
}

type Fields = Readonly<Record<string, unknown>>;

/** Fields by name that are different, as `ram 512 -> 1024`. */
export function fieldChanges(before: Fields, after: Fields): readonly string[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  return names
    .filter((name) => textOf(before[name]) !== textOf(after[name]))
    .map((name) => `${name} ${plain(before[name])} -> ${plain(after[name])}`);
}

/** Without the fields that have these values. */
export function withoutDefaults<T extends object>(value: T, defaults: Fields): Partial<T> {
  const entries = Object.entries(value).filter(
    ([name, one]) => one !== undefined && textOf(one) !== textOf(defaults[name]),
  );
  return Object.fromEntries(entries) as Partial<T>;
}

/** Equal for equal values, whatever the order of their members. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) => (isObject(one) ? Object.fromEntries(sorted(one)) : one)) ?? "";
}

const sorted = (value: object) => Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));

function plain(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "unset");
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}

/** The cluster has what its file contradicts. */
export class SeedRejectedError extends Error {
  override readonly name = "SeedRefused";
}
