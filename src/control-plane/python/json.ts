/**
 * JSON as Python's `json` module represents it. Error messages of the Placement API contain values in Python's
 * notation.
 * There `1` and `1.0` differ, and integers have no limit; plain JavaScript values cannot represent either.
 */
export type PythonValue = null | boolean | number | bigint | string | PythonFloat | PythonValue[] | PythonDict;

/** A `dict`. A Map preserves the order of insertion even for keys that look like integers. */
type PythonDict = Map<string, PythonValue>;

export class PythonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** Returns an error with the message of Python's `json.JSONDecodeError`. */
function decodeError(message: string, text: string, at: number): SyntaxError {
  const before = text.slice(0, at);
  const line = before.split("\n").length;
  const column = at - before.lastIndexOf("\n");
  return new SyntaxError(`${message}: line ${line} column ${column} (char ${at})`);
}

const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;

const SPACE = /[ \t\n\r]*/y;

const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const CONSTANTS: readonly (readonly [string, PythonValue])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", new PythonFloat(Number.NaN)],
  ["Infinity", new PythonFloat(Number.POSITIVE_INFINITY)],
  ["-Infinity", new PythonFloat(Number.NEGATIVE_INFINITY)],
];

/**
 * Parses as CPython's `json.loads` does: with the same extensions (`NaN`, `Infinity`) and the same error messages and
 * positions.
 * @throws {SyntaxError}
 */
export function parsePythonJson(text: string): PythonValue {
  const parser = new Parser(text);
  const value = parser.value(parser.space(0));
  const end = parser.space(parser.end);
  if (end !== text.length) {
    throw decodeError("Extra data", text, end);
  }
  return value;
}

class Parser {
  readonly #text: string;
  /** The end of the last value. */
  end = 0;

  constructor(text: string) {
    this.#text = text;
  }

  space(at: number): number {
    SPACE.lastIndex = at;
    SPACE.test(this.#text);
    return SPACE.lastIndex;
  }

  value(at: number): PythonValue {
    const char = this.#text[at];
    if (char === '"') {
      return this.#string(at);
    }
    if (char === "{") {
      return this.#object(at + 1);
    }
    if (char === "[") {
      return this.#array(at + 1);
    }
    for (const [word, value] of CONSTANTS) {
      if (this.#text.startsWith(word, at)) {
        this.end = at + word.length;
        return value;
      }
    }
    NUMBER.lastIndex = at;
    const match = NUMBER.exec(this.#text);
    if (match === null) {
      throw decodeError("Expecting value", this.#text, at);
    }
    this.end = NUMBER.lastIndex;
    if (match[2] !== undefined || match[3] !== undefined) {
      return new PythonFloat(Number(match[0]));
    }
    const number = Number(match[0]);
    return Number.isSafeInteger(number) ? (number === 0 ? 0 : number) : BigInt(match[0]);
  }

  #object(start: number): PythonDict {
    const text = this.#text;
    const dict: PythonDict = new Map();
    let at = this.space(start);
    if (text[at] === "}") {
      this.end = at + 1;
      return dict;
    }
    for (;;) {
      if (text[at] !== '"') {
        throw decodeError("Expecting property name enclosed in double quotes", text, at);
      }
      const key = this.#string(at);
      at = this.space(this.end);
      if (text[at] !== ":") {
        throw decodeError("Expecting ':' delimiter", text, at);
      }
      dict.set(key, this.value(this.space(at + 1)));
      at = this.space(this.end);
      if (text[at] === "}") {
        break;
      }
      if (text[at] !== ",") {
        throw decodeError("Expecting ',' delimiter", text, at);
      }
      at = this.space(at + 1);
    }
    this.end = at + 1;
    return dict;
  }

  #array(start: number): PythonValue[] {
    const text = this.#text;
    const list: PythonValue[] = [];
    let at = this.space(start);
    if (text[at] === "]") {
      this.end = at + 1;
      return list;
    }
    for (;;) {
      list.push(this.value(at));
      at = this.space(this.end);
      if (text[at] === "]") {
        break;
      }
      if (text[at] !== ",") {
        throw decodeError("Expecting ',' delimiter", text, at);
      }
      at = this.space(at + 1);
    }
    this.end = at + 1;
    return list;
  }

  #string(start: number): string {
    const text = this.#text;
    let out = "";
    let at = start + 1;
    for (;;) {
      const char = text[at];
      if (char === undefined) {
        throw decodeError("Unterminated string starting at", text, start);
      }
      if (char === '"') {
        break;
      }
      if (char < " ") {
        throw decodeError("Invalid control character at", text, at);
      }
      at += 1;
      if (char !== "\\") {
        out += char;
        continue;
      }
      const escaped = text[at];
      if (escaped === undefined) {
        throw decodeError("Unterminated string starting at", text, start);
      }
      if (escaped === "u") {
        const digits = text.slice(at + 1, at + 5);
        if (!/^[0-9a-fA-F]{4}$/.test(digits)) {
          throw decodeError("Invalid \\uXXXX escape", text, at);
        }
        out += String.fromCharCode(Number.parseInt(digits, 16));
        at += 5;
        continue;
      }
      const plain = ESCAPES[escaped];
      if (plain === undefined) {
        throw decodeError("Invalid \\escape", text, at - 1);
      }
      out += plain;
      at += 1;
    }
    this.end = at + 1;
    return out;
  }
}

/** Converts to a plain JavaScript value. Integers beyond 2^53 lose precision. */
export function toPlain(value: PythonValue): unknown {
  if (value instanceof PythonFloat) {
    return value.value;
  }
  if (typeof value === "bigint") {
    return Number(value);
  }
  if (Array.isArray(value)) {
    return value.map(toPlain);
  }
  if (value instanceof Map) {
    return Object.fromEntries([...value].map(([key, item]) => [key, toPlain(item)]));
  }
  return value;
}

/** Converts the parameters of a query string to a `dict` of strings. */
export function dictOf(entries: Iterable<readonly [string, string]>): PythonDict {
  return new Map(entries);
}
