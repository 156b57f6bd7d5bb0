import { isAuditPeriod } from "../records/audit-period.js";
import { HOST_NAME_RULE, isHostName } from "../records/host-names.js";
import { strip } from "./ini-file.js";

/** What values an option takes. */
export interface ValueType<T> {
  /** For people, as in "expected an integer of at least 1". */
  readonly expected: string;
  /** A repeated option keeps all its values, not just the last; `parse` then gets each of them. */
  readonly repeated?: boolean;
  /** `undefined` when the text is no such value. */
  parse(values: readonly string[]): T | undefined;
  /** As it could stand in a file, and as `$name` inserts it. */
  format(value: T): string;
}

const last = (values: readonly string[]): string => values.at(-1) ?? "";

/** Any text. */
export const text: ValueType<string> = {
  expected: "a text",
  parse: last,
  format: (value) => value,
};

/** A period of which the last one that is over is audited. */
export const auditPeriod: ValueType<string> = {
  expected: "hour, day, month or year, and @ with a number that is in it: day@6, month@28 at most",
  parse: (values) => (isAuditPeriod(last(values)) ? last(values) : undefined),
  format: (value) => value,
};

const SCHEMES = ["http:", "https:", "ws:", "wss:"];

/** Where a control plane is. */
export const controlPlaneUrl: ValueType<string> = {
  expected: "http://host:port, https://…, ws://… or wss://…",
  parse: (values) => {
    const url = URL.canParse(last(values)) ? new URL(last(values)) : undefined;
    return url !== undefined && SCHEMES.includes(url.protocol) && url.host !== "" ? last(values) : undefined;
  },
  format: (value) => value,
};

/** What a compute host may be called. */
export const hostName: ValueType<string> = {
  expected: HOST_NAME_RULE,
  parse: (values) => (isHostName(last(values)) ? last(values) : undefined),
  format: (value) => value,
};

/** One of the given words. */
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

/** As Python reads numbers: digits may be grouped by underscores. */
const DIGITS = "\\d+(?:_\\d+)*";
const INTEGER = new RegExp(`^[+-]?${DIGITS}$`);
const FLOAT = new RegExp(`^[+-]?(?:${DIGITS}\\.?(?:${DIGITS})?|\\.${DIGITS})(?:e[+-]?${DIGITS})?$`, "i");

export interface NumberRange {
  readonly min?: number;
  readonly max?: number;
}

/** A whole number. */
export function integer(range: NumberRange = {}): ValueType<number> {
  return {
    expected: `an integer${rangeText(range)}`,
    parse: (values) => {
      const digits = strip(last(values));
      const value = INTEGER.test(digits) ? Number(digits.replaceAll("_", "")) : Number.NaN;
      return Number.isSafeInteger(value) && isWithin(value, range) ? value : undefined;
    },
    format: String,
  };
}

/** A number that may have a fraction. */
export function float(range: NumberRange = {}): ValueType<number> {
  return {
    expected: `a number${rangeText(range)}`,
    parse: (values) => {
      const digits = strip(last(values));
      const value = FLOAT.test(digits) ? Number(digits.replaceAll("_", "")) : Number.NaN;
      return Number.isFinite(value) && isWithin(value, range) ? value : undefined;
    },
    format: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
  };
}

/** Texts, separated by commas. */
export const list: ValueType<readonly string[]> = {
  expected: "a list separated by commas",
  parse: (values) => splitList(last(values)),
  format: (value) => value.join(","),
};

/**
 * An option that may be repeated; every value counts.
 * @internal for tests
 */
export const repeated: ValueType<readonly string[]> = {
  expected: "texts",
  repeated: true,
  parse: (values) => Object.freeze([...values]),
  format: (value) => value.join(","),
};

/**
 * Names out of a fixed set, separated by commas.
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
    expected: `a list of names separated by commas; known are ${[...meanings.keys()].join(", ")}`,
    parse: (values) => {
      const found = splitList(last(values)).map((word) => meanings.get(word));
      return found.every((each) => each !== undefined) ? new Set(found.flatMap((each) => each ?? [])) : undefined;
    },
    format: (value) => [...value].join(","),
  };
}

/** The same type, or nothing, which is what an empty text means. */
export function optional<T>(type: ValueType<T>): ValueType<T | null> {
  return {
    ...type,
    parse: (values) => (strip(last(values)) === "" ? null : type.parse(values)),
    format: (value) => (value === null ? "" : type.format(value)),
  };
}

function splitList(value: string): readonly string[] {
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
