import { InvalidParameters } from "../../conductor/errors.js";

/** Looks at a value that claims to be of a type. @throws {InvalidParameters} naming the field, what was found and what was expected. */
export type Check = (value: unknown, field: string) => void;

/** SQLite cuts text at NUL, and lone surrogates cannot be stored as UTF-8: neither would be read back as it was written. */
const UNSTORABLE = /[\0\p{Surrogate}]/u;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** A value as it is shown in a message: its JSON, cut at 60 characters. */
export function describe(value: unknown): string {
  if (value === undefined) {
    return "nothing";
  }
  const text = typeof value === "number" ? String(value) : jsonOf(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}

export function refuse(field: string, found: unknown, expected: string): never {
  throw new InvalidParameters(`${field}: found ${describe(found)}, expected ${expected}`, { field, expected });
}

export function text(most = 255): Check {
  return (value, field) => {
    if (typeof value !== "string" || UNSTORABLE.test(value)) {
      refuse(field, value, "a string without NUL or broken characters");
    }
    if (value.length > most) {
      refuse(field, value, `at most ${most} characters`);
    }
  };
}

export const uuid: Check = (value, field) => {
  if (typeof value !== "string" || !UUID.test(value)) {
    refuse(field, value, "a UUID");
  }
};

export function integer(least = Number.MIN_SAFE_INTEGER, most = Number.MAX_SAFE_INTEGER): Check {
  return (value, field) => {
    if (typeof value !== "number" || !Number.isSafeInteger(value) || value < least || value > most) {
      refuse(field, value, `an integer from ${least} to ${most}`);
    }
  };
}

export const ratio: Check = (value, field) => {
  if (typeof value !== "number" || !Number.isFinite(value) || value < 0) {
    refuse(field, value, "a finite number, 0 or more");
  }
};

export const flag: Check = (value, field) => {
  if (typeof value !== "boolean") {
    refuse(field, value, "true or false");
  }
};

export function oneOf(allowed: readonly (string | number)[]): Check {
  return (value, field) => {
    if (!allowed.some((each) => each === value)) {
      refuse(field, value, `one of ${allowed.join(", ")}`);
    }
  };
}

export function nullable(check: Check): Check {
  return (value, field) => {
    if (value !== null) {
      check(value, field);
    }
  };
}

export function optional(check: Check): Check {
  return (value, field) => {
    if (value !== undefined) {
      check(value, field);
    }
  };
}

export function listOf(check: Check): Check {
  return (value, field) => {
    if (!Array.isArray(value)) {
      refuse(field, value, "a list");
    }
    value.forEach((item: unknown, index) => {
      check(item, `${field}[${index}]`);
    });
  };
}

/** An object with any keys, whose values pass `check`. */
export function mapOf(check: Check): Check {
  return (value, field) => {
    if (!isObject(value)) {
      refuse(field, value, "an object");
    }
    for (const [key, item] of Object.entries(value)) {
      text()(key, `a key of ${field}`);
      check(item, `${field}.${key}`);
    }
  };
}

/** An object with these fields and no others. */
export function shape<T extends object>(fields: { readonly [K in keyof T]-?: Check }): Check {
  const checks = new Map<string, Check>(Object.entries(fields));
  return (value, field) => {
    if (!isObject(value)) {
      refuse(field, value, "an object");
    }
    for (const key of Object.keys(value)) {
      if (!checks.has(key)) {
        refuse(`${field}.${key}`, value[key], "no such field");
      }
    }
    for (const [key, check] of checks) {
      check(value[key], `${field}.${key}`);
    }
  };
}

/** Any JSON value; its text is bounded by the column. */
export const anything: Check = (value, field) => {
  if (value === undefined) {
    refuse(field, value, "a JSON value");
  }
};

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
