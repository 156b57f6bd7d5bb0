/**
 * JSON as Python's `json` module sees it. Error texts of the Placement API quote values in Python's notation, where `1`
 * and `1.0` differ and integers have no limit; plain JavaScript values cannot tell them apart.
 */
export type PythonValue = null | boolean | number | bigint | string | PythonFloat | PythonValue[] | PythonDict;

/** A `dict`: keeps the order of insertion even for keys that look like integers. */
export type PythonDict = Map<string, PythonValue>;

export class PythonFloat {
  readonly value: number;

  constructor(value: number) {
    this.value = value;
  }
}

/** The plain JavaScript value with the same content. Integers beyond 2^53 lose precision. */
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

/** The Python value of a query string's parameters: a `dict` of strings. */
export function dictOf(entries: Iterable<readonly [string, string]>): PythonDict {
  return new Map(entries);
}
