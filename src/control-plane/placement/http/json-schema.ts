import { isObject } from "../../../runtime/collections.js";
import { isUuidLike } from "../../python/uuid.js";

/**
 * The part of JSON Schema that Placement's API uses. The order of keywords matters: of several errors, the one of the
 * first keyword is reported.
 */
export interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: false;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly uniqueItems?: true;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: "uuid";
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

export type SchemaType = "object" | "array" | "string" | "integer" | "number" | "null";

/** Python's `re.search` for the patterns in use: `$` also matches before a final newline. */
export function pythonPattern(pattern: string): RegExp {
  const known = PATTERNS.get(pattern);
  if (known !== undefined) {
    return known;
  }
  const compiled = new RegExp(pattern.replaceAll("$", "\\n?$"));
  PATTERNS.set(pattern, compiled);
  return compiled;
}

const PATTERNS = new Map<string, RegExp>();

/** Counts characters as Python does: by code points. */
export function characters(text: string): number {
  let count = text.length;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit <= 0xdbff && i + 1 < text.length) {
      const next = text.charCodeAt(i + 1);
      if (next >= 0xdc00 && next <= 0xdfff) {
        count -= 1;
        i += 1;
      }
    }
  }
  return count;
}

/** Checks whether a parsed body is valid. It gives no reasons, and is therefore fast. */
type Validator = (value: unknown) => boolean;

const COMPILED = new WeakMap<Schema, Validator>();

/** Returns the validator of a schema, compiled at first use. */
export function validatorFor(schema: Schema): Validator {
  const known = COMPILED.get(schema);
  if (known !== undefined) {
    return known;
  }
  const compiled = compile(schema);
  COMPILED.set(schema, compiled);
  return compiled;
}

function compile(schema: Schema): Validator {
  const checks: Validator[] = [];
  if (schema.type !== undefined) {
    checks.push(typeCheck(schema.type));
  }
  if (schema.anyOf !== undefined) {
    const any = schema.anyOf.map(compile);
    checks.push((value) => any.some((check) => check(value)));
  }
  checks.push(...objectChecks(schema), ...arrayChecks(schema), ...scalarChecks(schema));
  const [first, second, third] = checks;
  if (first === undefined) {
    return () => true;
  }
  if (second === undefined) {
    return first;
  }
  if (third === undefined) {
    return (value) => first(value) && second(value);
  }
  return (value) => {
    for (const check of checks) {
      if (!check(value)) {
        return false;
      }
    }
    return true;
  };
}

function typeCheck(types: SchemaType | readonly SchemaType[]): Validator {
  if (typeof types === "string") {
    return TYPES[types];
  }
  const checks = types.map((type) => TYPES[type]);
  return (value) => checks.some((check) => check(value));
}

const TYPES: Readonly<Record<SchemaType, Validator>> = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  integer: Number.isInteger,
  number: (value) => typeof value === "number",
  null: (value) => value === null,
};

function objectChecks(schema: Schema): Validator[] {
  const { required, minProperties } = schema;
  const checks: Validator[] = [];
  if (required !== undefined) {
    checks.push((value) => !isObject(value) || required.every((key) => Object.hasOwn(value, key)));
  }
  if (minProperties !== undefined && minProperties > 0) {
    checks.push((value) => !isObject(value) || Object.keys(value).length >= minProperties);
  }
  if (schema.properties !== undefined || schema.patternProperties !== undefined) {
    checks.push(propertiesCheck(schema));
  }
  return checks;
}

function propertiesCheck(schema: Schema): Validator {
  const named = new Map(Object.entries(schema.properties ?? {}).map(([key, sub]) => [key, compile(sub)]));
  const matched = Object.entries(schema.patternProperties ?? {}).map(
    ([pattern, sub]) => [pythonPattern(pattern), compile(sub)] as const,
  );
  const closed = schema.additionalProperties === false;
  return (value) => {
    if (!isObject(value)) {
      return true;
    }
    for (const key in value) {
      const item = value[key];
      const check = named.get(key);
      let known = check !== undefined;
      if (check !== undefined && !check(item)) {
        return false;
      }
      for (const [pattern, sub] of matched) {
        if (!pattern.test(key)) {
          continue;
        }
        known = true;
        if (!sub(item)) {
          return false;
        }
      }
      if (!known && closed) {
        return false;
      }
    }
    return true;
  };
}

function arrayChecks(schema: Schema): Validator[] {
  const { items, minItems, uniqueItems } = schema;
  const checks: Validator[] = [];
  if (minItems !== undefined) {
    checks.push((value) => !Array.isArray(value) || value.length >= minItems);
  }
  if (items !== undefined) {
    const check = compile(items);
    checks.push((value) => !Array.isArray(value) || value.every(check));
  }
  // The schemas use it for lists of strings only; other items already fail an earlier check.
  if (uniqueItems === true) {
    checks.push((value) => !Array.isArray(value) || new Set(value).size === value.length);
  }
  return checks;
}

function scalarChecks(schema: Schema): Validator[] {
  const { minLength, maxLength, minimum, maximum } = schema;
  const checks: Validator[] = [];
  const text = (check: (value: string) => boolean) => {
    checks.push((value) => typeof value !== "string" || check(value));
  };
  const number = (check: (value: number) => boolean) => {
    checks.push((value) => typeof value !== "number" || check(value));
  };
  // A character is one or two UTF-16 units, so comparing the length is usually enough.
  if (minLength !== undefined) {
    text((value) => value.length >= 2 * minLength || characters(value) >= minLength);
  }
  if (maxLength !== undefined) {
    text((value) => value.length <= maxLength || characters(value) <= maxLength);
  }
  if (schema.pattern !== undefined) {
    const pattern = pythonPattern(schema.pattern);
    text((value) => pattern.test(value));
  }
  if (schema.format === "uuid") {
    text(isUuidLike);
  }
  if (minimum !== undefined) {
    number((value) => value >= minimum);
  }
  if (maximum !== undefined) {
    number((value) => value <= maximum);
  }
  if (schema.enum !== undefined) {
    const allowed = new Set<unknown>(schema.enum);
    checks.push((value) => allowed.has(value));
  }
  return checks;
}
