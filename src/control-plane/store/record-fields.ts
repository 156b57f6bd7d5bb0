import { ConductorError } from "../../conductor-client/errors.js";
import { hasOneValue, type JsonSchema, LONGEST, text } from "../../records/field.js";
import { isObject } from "../../runtime/collections.js";
import type { SqlValue } from "../database/database-file.js";

/**
 * Checks that a value has the type.
 * @throws {InvalidParameters} with the field, the actual and the expected value
 */
type Check = (value: unknown, field: string) => void;

/**
 * SQLite truncates text at NUL, and a lone surrogate has no UTF-8 encoding, so neither would be read back unchanged.
 */
const UNSTORABLE = /[\0\p{Surrogate}]/u;

export type { SqlValue };

/** Converts a field of a record to a column and back. */
export interface Codec<T> {
  /** @throws {InvalidParameters} if the value does not match the column's type */
  encode(value: unknown, field: string): SqlValue;
  decode(raw: SqlValue): T;
}

const jsonText = checkOf(text(LONGEST));

/**
 * Derives the column of a field from its schema: JSON for lists and objects, 1 and 0 for booleans, otherwise the value
 * itself.
 */
export function codecOf(schema: JsonSchema): Codec<unknown> {
  const verify = checkOf(schema);
  const encoding = (convert: (value: unknown, field: string) => SqlValue) => (value: unknown, field: string) => {
    verify(value, field);
    return convert(value, field);
  };
  if ([schema.type].flat().includes("boolean")) {
    return { encode: encoding((value) => (value ? 1 : 0)), decode: (raw) => raw === 1 };
  }
  if (hasOneValue(schema)) {
    return { encode: encoding((value) => value as SqlValue), decode: (raw) => raw };
  }
  const encode = encoding((value, field) => {
    if (value === null) {
      return null;
    }
    const encoded = JSON.stringify(value);
    jsonText(encoded, field);
    return encoded;
  });
  return { encode, decode: (raw) => (raw === null ? null : JSON.parse(String(raw))) };
}

/** Formats a value for a message: as JSON, truncated to 60 characters. */
export function describe(value: unknown): string {
  if (value === undefined) {
    return "nothing";
  }
  const textCheck = typeof value === "number" ? String(value) : jsonOf(value);
  return textCheck.length > 60 ? `${textCheck.slice(0, 57)}...` : textCheck;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? typeof value;
  } catch {
    return typeof value;
  }
}

export function rejectField(field: string, found: unknown, expected: string): never {
  throw new ConductorError("InvalidParameters", `${field}: found ${describe(found)}, expected ${expected}`, {
    field,
    expected,
  });
}

export function checkOf(schema: JsonSchema): Check {
  const types = [schema.type].flat();
  const check = checkOfType(types.find((type) => type !== "null") ?? "null", schema);
  return types.includes("null") ? nullable(check) : check;
}

function checkOfType(type: string, schema: JsonSchema): Check {
  if (Array.isArray(schema.enum)) {
    const allowed = schema.enum.filter((value) => value !== null);
    return expecting(`one of ${allowed.join(", ")}`, (value) => allowed.includes(value));
  }
  switch (type) {
    case "string":
      return typeof schema.pattern === "string"
        ? uuidCheck(new RegExp(schema.pattern))
        : textCheck(bound(schema, "maxLength"), bound(schema, "minLength", 0));
    case "integer": {
      const [least, most] = [bound(schema, "minimum"), bound(schema, "maximum")];
      const isValid = (value: unknown) =>
        Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most;
      return expecting(`an integer from ${least} to ${most}`, isValid);
    }
    case "number":
      return expecting("a finite number, 0 or more", (value) => Number.isFinite(value) && Number(value) >= 0);
    case "boolean":
      return expecting("true or false", (value) => typeof value === "boolean");
    case "array":
      return listOf(checkOf(schema.items as JsonSchema));
    case "object":
      return objectOf(schema);
    default:
      throw new TypeError(`a field of type ${type} has no check`);
  }
}

function expecting(expected: string, isValid: (value: unknown) => boolean): Check {
  return (value, field) => {
    if (!isValid(value)) {
      rejectField(field, value, expected);
    }
  };
}

function uuidCheck(form: RegExp): Check {
  return expecting("a UUID", (value) => typeof value === "string" && form.test(value));
}

/** Returns a bound of the schema. Every column must have it, unless `otherwise` is the default. */
function bound(schema: JsonSchema, keyword: string, otherwise?: number): number {
  const value = schema[keyword] ?? otherwise;
  if (typeof value !== "number") {
    throw new TypeError(`the description of a field lacks ${keyword}`);
  }
  return value;
}

function objectOf({ properties, required, additionalProperties }: JsonSchema): Check {
  if (properties !== undefined) {
    return shape(Object.entries(properties as Readonly<Record<string, JsonSchema>>), required as readonly string[]);
  }
  // Any JSON value; the column limits its length.
  const anything = expecting("a JSON value", (value) => value !== undefined);
  return mapOf(typeof additionalProperties === "object" ? checkOf(additionalProperties as JsonSchema) : anything);
}

function textCheck(most = 255, least = 0): Check {
  return (value, field) => {
    if (typeof value !== "string" || UNSTORABLE.test(value)) {
      rejectField(field, value, "a string without NUL or broken characters");
    }
    if (value.length < least || value.length > most) {
      rejectField(field, value, least === 0 ? `at most ${most} characters` : `${least} to ${most} characters`);
    }
  };
}

function nullable(check: Check): Check {
  return (value, field) => {
    if (value !== null) {
      check(value, field);
    }
  };
}

function listOf(check: Check): Check {
  return (value, field) => {
    if (!Array.isArray(value)) {
      rejectField(field, value, "a list");
    }
    value.forEach((item: unknown, index) => {
      check(item, `${field}[${index}]`);
    });
  };
}

/** Accepts an object with any keys whose values pass `check`. */
function mapOf(check: Check): Check {
  const key = textCheck();
  return (value, field) => {
    if (!isObject(value)) {
      rejectField(field, value, "an object");
    }
    for (const [name, item] of Object.entries(value)) {
      key(name, `a key of ${field}`);
      check(item, `${field}.${name}`);
    }
  };
}

/** Accepts an object with exactly these fields. */
function shape(fields: readonly (readonly [string, JsonSchema])[], required: readonly string[]): Check {
  const checks = new Map(fields.map(([name, schema]) => [name, checkOf(schema)]));
  return (value, field) => {
    if (!isObject(value)) {
      rejectField(field, value, "an object");
    }
    for (const key of Object.keys(value)) {
      if (!checks.has(key)) {
        rejectField(`${field}.${key}`, value[key], "no such field");
      }
    }
    for (const [key, check] of checks) {
      if (value[key] !== undefined || required.includes(key)) {
        check(value[key], `${field}.${key}`);
      }
    }
  };
}
