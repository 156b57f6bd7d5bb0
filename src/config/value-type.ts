import { isAuditPeriod } from "../records/audit-period.js";
import { HOST_NAME_RULE, isHostName } from "../records/host-names.js";
import { strip } from "./ini-file.js";

/** The type of an option's values. */
export interface ValueType<T> {
  /** For messages such as "expected an integer of at least 1". */
  readonly expected: string;
  /** Whether a repeated option retains all its values instead of the last; `parse` then receives all of them. */
  readonly repeated?: boolean;
  /** Returns `undefined` for an invalid value. */
  parse(values: readonly string[]): T | undefined;
  /** Returns the value in the syntax of a configuration file, as `$name` inserts it. */
  format(value: T): string;
}

const last = (values: readonly string[]): string => values.at(-1) ?? "";

const asWritten = (value: string): string => value;

export const text: ValueType<string> = { expected: "a string", parse: last, format: asWritten };

/** Creates the type of strings that pass a check. */
function textIf(isValid: (text: string) => boolean, expected: string): ValueType<string> {
  return { expected, parse: (values) => (isValid(last(values)) ? last(values) : undefined), format: asWritten };
}

/** A period of usage audits. */
export const auditPeriod = textIf(
  isAuditPeriod,
  "hour, day, month or year, with @ and an offset within the period: day@6; at most month@28",
);

const SCHEMES = ["http:", "https:", "ws:", "wss:"];

export const controlPlaneUrl = textIf((value) => {
  const url = URL.canParse(value) ? new URL(value) : undefined;
  return url !== undefined && SCHEMES.includes(url.protocol) && url.host !== "";
}, "http://host:port, https://…, ws://… or wss://…");

/** The name of a compute host. */
export const hostName = textIf(isHostName, HOST_NAME_RULE);

/** One of several strings. */
export function choice<const C extends string>(choices: readonly C[]): ValueType<C> {
  return {
    expected: choices.length === 2 ? choices.join(" or ") : `one of ${choices.join(", ")}`,
    parse: (values) => choices.find((word) => word === last(values)),
    format: (value) => value,
  };
}

const TRUE = ["true", "1", "on", "yes"];
const FALSE = ["false", "0", "off", "no"];

export const boolean: ValueType<boolean> = {
  expected: "true or false (also 1/0, yes/no, on/off)",
  parse: (values) => {
    const word = last(values).toLowerCase();
    return TRUE.includes(word) || (FALSE.includes(word) ? false : undefined);
  },
  format: (value) => (value ? "True" : "False"),
};

/** Digits may be grouped by underscores, as in Python. */
const DIGITS = "\\d+(?:_\\d+)*";
const INTEGER = new RegExp(`^[+-]?${DIGITS}$`);
const FLOAT = new RegExp(`^[+-]?(?:${DIGITS}\\.?(?:${DIGITS})?|\\.${DIGITS})(?:e[+-]?${DIGITS})?$`, "i");

export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
}

export function integer(range: NumberRange = {}): ValueType<number> {
  return number("an integer", INTEGER, Number.isSafeInteger, range);
}

export function float(range: NumberRange = {}): ValueType<number> {
  const format = (value: number) => (Number.isInteger(value) ? value.toFixed(1) : String(value));
  return { ...number("a number", FLOAT, Number.isFinite, range), format };
}

function number(
  noun: string,
  pattern: RegExp,
  isValid: (value: number) => boolean,
  range: NumberRange,
): ValueType<number> {
  return {
    expected: `${noun}${rangeText(range)}`,
    parse: (values) => {
      const digits = strip(last(values));
      const value = pattern.test(digits) ? Number(digits.replaceAll("_", "")) : Number.NaN;
      return isValid(value) && isWithin(value, range) ? value : undefined;
    },
    format: String,
  };
}

/** Strings separated by commas. */
export const list: ValueType<readonly string[]> = {
  expected: "a list separated by commas",
  parse: (values) => splitList(last(values)),
  format: (value) => value.join(","),
};

/** A list of which each item has a form. */
export function listOf(item: RegExp, expected: string): ValueType<readonly string[]> {
  return {
    ...list,
    expected: `a list of ${expected}, separated by commas`,
    parse: (values) => {
      const items = splitList(last(values));
      return items.every((each) => item.test(each)) ? items : undefined;
    },
  };
}

/**
 * An option that may be repeated; every value counts.
 * @internal for tests
 */
export const repeated: ValueType<readonly string[]> = {
  expected: "strings; repeatable",
  repeated: true,
  parse: (values) => Object.freeze([...values]),
  format: (value) => value.join(","),
};

/**
 * Names from a fixed set, separated by commas.
 * @param groups names that stand for several of them
 */
export function names<const C extends string>(
  known: readonly C[],
  groups: Readonly<Record<string, readonly C[]>>,
): ValueType<ReadonlySet<C>> {
  const meanings = new Map<string, readonly C[]>([
    ...Object.entries(groups),
    ...known.map((name) => [name, [name]] as const),
  ]);
  return {
    expected: `a list separated by commas, with names of: ${[...meanings.keys()].join(", ")}`,
    parse: (values) => {
      const found = splitList(last(values)).map((word) => meanings.get(word));
      return found.every((each) => each !== undefined) ? new Set(found.flatMap((each) => each ?? [])) : undefined;
    },
    format: (value) => [...value].join(","),
  };
}

/** Accepts the values of `type`, or an empty string for null. */
export function optional<T>(type: ValueType<T>): ValueType<T | null> {
  return {
    ...type,
    parse: (values) => (strip(last(values)) === "" ? null : type.parse(values)),
    format: (value) => (value === null ? "" : type.format(value)),
  };
}

/** Splits a list at commas, without empty items. */
export function splitList(value: string): readonly string[] {
  const items = strip(value).replace(/,+$/, "");
  return Object.freeze(items === "" ? [] : items.split(",").map(strip));
}

function isWithin(value: number, { min = Number.NEGATIVE_INFINITY, max = Number.POSITIVE_INFINITY }: NumberRange) {
  return value >= min && value <= max;
}

function rangeText({ min, max }: NumberRange): string {
  if (min !== undefined && max !== undefined) {
    return ` from ${min} to ${max}`;
  }
  return min !== undefined ? ` of at least ${min}` : max !== undefined ? ` of at most ${max}` : "";
}
