import { isAuditPeriod } from "../records/audit-period.js";
import { HOST_NAME_RULE, isHostName } from "../records/host-name.js";
import { strip } from "./ini-file.js";

/** What values an option takes. */
export interface ValueType<T> {
  /** For people, as in "expected an integer of at least 1". */
  readonly expected: string;
  /** A repeated option keeps all its values, not just the last; `parse` then gets each of them. */
  readonly repeated?: boolean;
  /** `undefined` when the text is no such value. */
  parse(texts: readonly string[]): T | undefined;
  /** As it could stand in a file, and as `$name` inserts it. */
  format(value: T): string;
}

const last = (texts: readonly string[]): string => texts.at(-1) ?? "";

/** Any text. */
export const text: ValueType<string> = {
  expected: "a text",
  parse: last,
  format: (value) => value,
};

/** A period of which the last one that is over is audited. */
export const auditPeriod: ValueType<string> = {
  expected: "hour, day, month or year, and @ with a number that is in it: day@6, month@28 at most",
  parse: (texts) => (isAuditPeriod(last(texts)) ? last(texts) : undefined),
  format: (value) => value,
};

const SCHEMES = ["http:", "https:", "ws:", "wss:"];

/** Where a control plane is. */
export const controlPlaneUrl: ValueType<string> = {
  expected: "http://host:port, https://…, ws://… or wss://…",
  parse: (texts) => {
    const url = URL.canParse(last(texts)) ? new URL(last(texts)) : undefined;
    return url !== undefined && SCHEMES.includes(url.protocol) && url.host !== "" ? last(texts) : undefined;
  },
  format: (value) => value,
};

/** What a compute host may be called. */
export const hostName: ValueType<string> = {
  expected: HOST_NAME_RULE,
  parse: (texts) => (isHostName(last(texts)) ? last(texts) : undefined),
  format: (value) => value,
};

/** One of the given words. */
export function choice<const C extends string>(choices: readonly C[]): ValueType<C> {
  return {
    expected: choices.length === 2 ? choices.join(" or ") : `one of ${choices.join(", ")}`,
    parse: (texts) => choices.find((word) => word === last(texts)),
    format: (value) => value,
  };
}

const TRUE = ["true", "1", "on", "yes"];
const FALSE = ["false", "0", "off", "no"];

export const boolean: ValueType<boolean> = {
  expected: "true or false (also 1/0, yes/no, on/off)",
  parse: (texts) => {
    const word = last(texts).toLowerCase();
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
    parse: (texts) => {
      const digits = strip(last(texts));
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
    parse: (texts) => {
      const digits = strip(last(texts));
      const value = FLOAT.test(digits) ? Number(digits.replaceAll("_", "")) : Number.NaN;
      return Number.isFinite(value) && isWithin(value, range) ? value : undefined;
    },
    format: (value) => (Number.isInteger(value) ? value.toFixed(1) : String(value)),
  };
}

/** Texts, separated by commas. */
export const list: ValueType<readonly string[]> = {
  expected: "a list separated by commas",
  parse: (texts) => splitList(last(texts)),
  format: (value) => value.join(","),
};

/**
 * An option that may be repeated; every value counts.
 * @internal for tests
 */
export const repeated: ValueType<readonly string[]> = {
  expected: "texts",
  repeated: true,
  parse: (texts) => Object.freeze([...texts]),
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
    parse: (texts) => {
      const found = splitList(last(texts)).map((word) => meanings.get(word));
      return found.every((each) => each !== undefined) ? new Set(found.flatMap((each) => each ?? [])) : undefined;
    },
    format: (value) => [...value].join(","),
  };
}

/** The same type, or nothing, which is what an empty text means. */
export function optional<T>(type: ValueType<T>): ValueType<T | null> {
  return {
    ...type,
    parse: (texts) => (strip(last(texts)) === "" ? null : type.parse(texts)),
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
