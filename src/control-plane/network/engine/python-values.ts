import { badRequest, type HttpError } from "../../http/http-error.js";
import { pythonRepr, pythonStr, reprFloat } from "../../python/repr.js";

/**
 * Returns Neutron's message for an invalid value; undefined if it is valid. `parameter` is what the attribute map has
 * beside the type: 255 for `type:string`. A validator whose type converts members does so in `value`.
 * @throws {HttpError} where Neutron raises an exception of its own: 400 or 409
 */
export type Validator = (value: unknown, parameter: unknown) => string | undefined;

/** Python's behaviour on JSON values, as far as Neutron's validators and converters depend on it. */

/** The characters that `str.isspace`, `str.strip` and `\s` have in common. */
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

/** The characters at which `str.splitlines` splits. */
const LINE_BREAKS = "\\n-\\r\\x1c-\\x1e\\x85\\u2028\\u2029";

const LINE_BREAK = new RegExp(`\\r\\n|[${LINE_BREAKS}]`);

const WHITESPACE = new RegExp(`[${SPACE}]`);

const SMALL_INTEGER = /^\d{1,9}$/;

const INTEGER = /^[+-]?\d+(?:_\d+)*$/;

/** Python's `sys.set_int_max_str_digits`. */
const MAX_INTEGER_DIGITS = 4300;

/** Each digit can have two UTF-16 units and an underscore. */
const MAX_INTEGER_LENGTH = 3 * MAX_INTEGER_DIGITS;

/** Rejects a value of a type that Neutron's code does not expect: it fails, with 500. */
export function unexpectedType(): HttpError {
  return badRequest("The request has a value of an unexpected type.");
}

export function hasWhitespace(text: string): boolean {
  return WHITESPACE.test(text);
}

/** `str.strip()`, which differs from `trim` in a few characters. Loops, because a regular expression is quadratic. */
export function strip(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && WHITESPACE.test(text.charAt(start))) {
    start += 1;
  }
  while (end > start && WHITESPACE.test(text.charAt(end - 1))) {
    end -= 1;
  }
  return text.slice(start, end);
}

/** `len(text.splitlines()) > 1`: a line break at the end does not begin another line. */
export function hasMultipleLines(text: string): boolean {
  const lineBreak = LINE_BREAK.exec(text);
  return lineBreak !== null && lineBreak.index + lineBreak[0].length < text.length;
}

/** `len(text)`, in code points. */
export function codePointLength(text: string): number {
  let length = 0;
  for (const _ of text) {
    length += 1;
  }
  return length;
}

/** `str(value)`. */
export function str(value: unknown): string {
  return typeof value === "number" && !Number.isInteger(value) ? reprFloat(value) : pythonStr(value);
}

/** `str(set(names))`, in the order of `names`. */
export function strOfSet(names: readonly string[]): string {
  return names.length === 0 ? "set()" : `{${names.map(pythonRepr).join(", ")}}`;
}

/**
 * `int(value)`; undefined for a `ValueError` or `TypeError`.
 * @throws {HttpError} 400 for an infinite number
 */
export function parseInteger(value: unknown): bigint | undefined {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) {
      throw unexpectedType();
    }
    return BigInt(Math.trunc(value));
  }
  if (typeof value === "boolean") {
    return BigInt(value);
  }
  return typeof value === "string" ? parseIntegerText(value) : undefined;
}

function parseIntegerText(text: string): bigint | undefined {
  if (SMALL_INTEGER.test(text)) {
    return BigInt(text);
  }
  const stripped = strip(text);
  if (stripped.length > MAX_INTEGER_LENGTH) {
    return undefined;
  }
  const digits = stripped.replace(/[^ -~]/gu, toAsciiDigit);
  if (!INTEGER.test(digits)) {
    return undefined;
  }
  const bare = digits.replaceAll("_", "").replace(/^\+/, "");
  const length = bare.startsWith("-") ? bare.length - 1 : bare.length;
  if (length > MAX_INTEGER_DIGITS) {
    return undefined;
  }
  return bare.startsWith("-") ? -BigInt(bare.slice(1)) : BigInt(bare);
}

/** Converts a decimal digit of any script; other characters stay. Unicode's digits are in runs that begin with zero. */
function toAsciiDigit(char: string): string {
  const isDigit = (code: number): boolean => /\p{Nd}/u.test(String.fromCodePoint(code));
  const code = char.codePointAt(0) ?? 0;
  if (!isDigit(code)) {
    return char;
  }
  let zero = code;
  while (isDigit(zero - 1)) {
    zero -= 1;
  }
  return String((code - zero) % 10);
}

/** `bool(value)`. */
export function isTruthy(value: unknown): boolean {
  return typeof value === "object" && value !== null ? Object.keys(value).length > 0 : Boolean(value);
}

export type Dict = Record<string, unknown>;

export function isDict(value: unknown): value is Dict {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether the value can be a member of a Python `set`. */
export function isHashable(value: unknown): boolean {
  return typeof value !== "object" || value === null;
}

/** Returns the same string for two values if and only if they are equal in Python, where `True == 1`. */
export function equalityKey(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(equalityKey).join()}]`;
  }
  if (isDict(value)) {
    const members = Object.keys(value).sort();
    return `{${members.map((name) => `${JSON.stringify(name)}:${equalityKey(value[name])}`).join()}}`;
  }
  return typeof value === "boolean" ? String(Number(value)) : (JSON.stringify(value) ?? "null");
}
