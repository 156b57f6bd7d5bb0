import { PythonFloat, type PythonValue } from "./json.js";

/** `repr(value)`. */
export function repr(value: PythonValue): string {
  return render(value, false);
}

/** `pprint.pformat(value, width=width)`: dictionaries sorted by key, and broken into lines if they do not fit. */
export function pformat(value: PythonValue, width = 72): string {
  const out: string[] = [];
  new PrettyPrinter(width, out).format(value, 0, 0, 0);
  return out.join("");
}

/** `repr` of a `float`. */
export function reprFloat(value: number): string {
  if (Number.isNaN(value)) {
    return "nan";
  }
  if (!Number.isFinite(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  const magnitude = Math.abs(value);
  if (magnitude !== 0 && (magnitude >= 1e16 || magnitude < 1e-4)) {
    const [digits, exponent] = value.toExponential().split("e") as [string, string];
    const sign = exponent.startsWith("-") ? "-" : "+";
    return `${digits}e${sign}${exponent.replace(/^[-+]/, "").padStart(2, "0")}`;
  }
  if (Object.is(value, -0)) {
    return "-0.0";
  }
  return Number.isInteger(value) ? `${value}.0` : String(value);
}

/** Printable ASCII without quotes and backslashes: the most common case. */
const PLAIN = /^[ !#-&(-[\]-~]*$/;

/** `repr` of a `str`. */
function reprString(text: string): string {
  if (PLAIN.test(text)) {
    return `'${text}'`;
  }
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const char of text) {
    if (char === "\\" || char === quote) {
      out += `\\${char}`;
    } else if (char === "\n") {
      out += "\\n";
    } else if (char === "\r") {
      out += "\\r";
    } else if (char === "\t") {
      out += "\\t";
    } else if (char === " " || !/[\p{C}\p{Z}]/u.test(char)) {
      out += char;
    } else {
      out += escapeCode(char.codePointAt(0) ?? 0);
    }
  }
  return out + quote;
}

function escapeCode(code: number): string {
  if (code < 0x100) {
    return `\\x${code.toString(16).padStart(2, "0")}`;
  }
  if (code < 0x10000) {
    return `\\u${code.toString(16).padStart(4, "0")}`;
  }
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

function render(value: unknown, sorted: boolean): string {
  if (value === null || value === undefined) {
    return "None";
  }
  if (value === true) {
    return "True";
  }
  if (value === false) {
    return "False";
  }
  if (typeof value === "string") {
    return reprString(value);
  }
  if (value instanceof PythonFloat) {
    return reprFloat(value.value);
  }
  if (Array.isArray(value)) {
    return `[${value.map((item) => render(item, sorted)).join(", ")}]`;
  }
  if (typeof value === "object") {
    const dict: ReadonlyMap<string, unknown> = value instanceof Map ? value : new Map(Object.entries(value));
    const entries = sorted ? sortedEntries(dict) : [...dict];
    return `{${entries.map(([key, item]) => `${reprString(key)}: ${render(item, sorted)}`).join(", ")}}`;
  }
  return String(value);
}

function sortedEntries<T>(dict: ReadonlyMap<string, T>): [string, T][] {
  return [...dict].sort(([a], [b]) => compareText(a, b));
}

/** Compares as Python compares `str`: by code point. */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Formats as CPython's pprint: a value that fits stays on one line, and long strings are split at white space. */
class PrettyPrinter {
  readonly #width: number;
  readonly #out: string[];

  constructor(width: number, out: string[]) {
    this.#width = width;
    this.#out = out;
  }

  format(value: PythonValue, indent: number, allowance: number, level: number): void {
    const rendered = render(value, true);
    if (longerThan(rendered, this.#width - indent - allowance)) {
      if (value instanceof Map) {
        this.#dict(value, indent, allowance + 1, level + 1);
      } else if (Array.isArray(value)) {
        this.#list(value, indent, allowance + 1, level + 1);
      } else if (typeof value === "string") {
        this.#string(value, indent, allowance, level + 1);
      } else {
        this.#out.push(rendered);
      }
      return;
    }
    this.#out.push(rendered);
  }

  #dict(dict: ReadonlyMap<string, PythonValue>, indent: number, allowance: number, level: number): void {
    const entries = sortedEntries(dict);
    this.#out.push("{");
    entries.forEach(([key, item], index) => {
      const last = index === entries.length - 1;
      const name = reprString(key);
      this.#out.push(name, ": ");
      this.format(item, indent + 1 + codePoints(name) + 2, last ? allowance : 1, level);
      if (!last) {
        this.#out.push(`,\n${" ".repeat(indent + 1)}`);
      }
    });
    this.#out.push("}");
  }

  #list(list: readonly PythonValue[], indent: number, allowance: number, level: number): void {
    this.#out.push("[");
    list.forEach((item, index) => {
      const last = index === list.length - 1;
      if (index > 0) {
        this.#out.push(`,\n${" ".repeat(indent + 1)}`);
      }
      this.format(item, indent + 1, last ? allowance : 1, level);
    });
    this.#out.push("]");
  }

  #string(text: string, startIndent: number, startAllowance: number, level: number): void {
    const indent = level === 1 ? startIndent + 1 : startIndent;
    const allowance = level === 1 ? startAllowance + 1 : startAllowance;
    const chunks = this.#chunks(text, indent, allowance);
    const body = chunks.join(`\n${" ".repeat(indent)}`);
    this.#out.push(level === 1 && chunks.length > 1 ? `(${body})` : body);
  }

  #chunks(text: string, indent: number, allowance: number): string[] {
    const room = this.#width - indent;
    const chunks: string[] = [];
    const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    lines.forEach((line, index) => {
      const lastLine = index === lines.length - 1;
      const literal = reprString(line);
      if (codePoints(literal) <= room - (lastLine ? allowance : 0)) {
        chunks.push(literal);
        return;
      }
      const parts = line.match(/\S+\s*|^\s+/g) ?? [];
      let current = "";
      parts.forEach((part, at) => {
        const candidate = current + part;
        const limit = room - (lastLine && at === parts.length - 1 ? allowance : 0);
        if (codePoints(reprString(candidate)) > limit) {
          if (current !== "") {
            chunks.push(reprString(current));
          }
          current = part;
        } else {
          current = candidate;
        }
      });
      if (current !== "") {
        chunks.push(reprString(current));
      }
    });
    return chunks;
  }
}

/**
 * Compares the number of code points with `room`. Counts them only if necessary: a code point has one or two UTF-16
 * units.
 */
function longerThan(text: string, room: number): boolean {
  return text.length > 2 * Math.max(room, 0) || codePoints(text) > room;
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) {
    count += 1;
  }
  return count;
}

/** Formats a JavaScript value as Python's `repr()`, as OpenStack's error messages do; an object as a `dict`. */
export function pythonRepr(value: unknown): string {
  return render(value, false);
}

/** Formats a value as Python's `str()`: a string is unchanged. */
export const pythonStr = (value: unknown): string => (typeof value === "string" ? value : pythonRepr(value));

/** Serializes JSON with the spacing of Python's `json.dumps`. */
export function pythonJson(value: unknown): string {
  if (Array.isArray(value)) {
    return `[${value.map(pythonJson).join(", ")}]`;
  }
  if (typeof value !== "object" || value === null) {
    return JSON.stringify(value);
  }
  const members = Object.entries(value).map(([key, member]) => `${JSON.stringify(key)}: ${pythonJson(member)}`);
  return `{${members.join(", ")}}`;
}
