import { failureMessage, missingProperty, unexpectedProperties } from "../http/schema-errors.js";
import { PythonFloat, type PythonValue } from "./json.js";
import { compareText, pythonRepr, repr } from "./repr.js";

/**
 * The part of JSON Schema that APIs of Placement and Block Storage use. The order of keywords matters: of several errors, the one of the
 * first keyword is reported.
 */
interface Schema {
  readonly type?: SchemaType | readonly SchemaType[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
  readonly required?: readonly string[];
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly uniqueItems?: true;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly format?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly (string | boolean)[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
}

type SchemaType = "object" | "array" | "string" | "integer" | "number" | "boolean" | "null";

/** Python's `re.search` for the patterns in use: `$` also matches before a final newline. */
export function pythonPattern(pattern: string): RegExp {
  const known = PATTERNS.get(pattern);
  if (known !== undefined) {
    return known;
  }
  const compiled = new RegExp(pattern.replaceAll("$", "\\n?$"), pattern.includes("\\p{") ? "u" : "");
  PATTERNS.set(pattern, compiled);
  return compiled;
}

const PATTERNS = new Map<string, RegExp>();

/**
 * Checks whether a string has a format. Returns a text that replaces the error's message if the format has one of its
 * own.
 */
export type IsFormat = (format: string, value: PythonValue) => boolean | string;

export interface Failure {
  readonly message: string;
  readonly keyword: string;
  readonly path: readonly (string | number)[];
  /** The path in the schema, including the keyword. */
  readonly schemaPath: readonly (string | number)[];
  readonly schema: Schema;
  readonly instance: PythonValue;
  readonly context: readonly Failure[];
  /** The message of the format's own error. */
  readonly cause?: string;
}

/** Returns the error that Python's jsonschema 4.10 reports as the best match; undefined if the value is valid. */
export function findFailure(schema: object, value: PythonValue, isFormat: IsFormat): Failure | undefined {
  return bestMatch(failures(schema, value, isFormat));
}

/** Returns the first error, in the order of the schema's keywords; undefined if the value is valid. */
export function findFirstFailure(schema: object, value: PythonValue, isFormat: IsFormat): Failure | undefined {
  return failures(schema, value, isFormat)[0];
}

function bestMatch(all: readonly Failure[]): Failure | undefined {
  let best = all[0];
  if (best === undefined) {
    return undefined;
  }
  for (const failure of all) {
    if (compare(relevance(failure), relevance(best)) > 0) {
      best = failure;
    }
  }
  while (best.context.length > 0) {
    const sorted: Failure[] = [...best.context].sort((a, b) => compare(relevance(a), relevance(b)));
    const [first, second] = sorted;
    if (first === undefined) {
      break;
    }
    if (second !== undefined && compare(relevance(first), relevance(second)) === 0) {
      return best;
    }
    best = first;
  }
  return best;
}

function relevance(failure: Failure): readonly number[] {
  const types = failure.schema.type;
  const matches = types !== undefined && [types].flat().some((type) => isType(failure.instance, type as SchemaType));
  return [-failure.path.length, WEAK.includes(failure.keyword) ? 0 : 1, matches ? 0 : 1];
}

/** Keywords whose errors say less than those of their alternatives. */
const WEAK = ["anyOf", "oneOf"];

function compare(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < a.length; i += 1) {
    const difference = (a[i] ?? 0) - (b[i] ?? 0);
    if (difference !== 0) {
      return difference;
    }
  }
  return 0;
}

function isType(value: PythonValue, type: SchemaType): boolean {
  if (type === "object") {
    return value instanceof Map;
  }
  if (type === "array") {
    return Array.isArray(value);
  }
  if (type === "string") {
    return typeof value === "string";
  }
  if (type === "boolean") {
    return typeof value === "boolean";
  }
  if (type === "null") {
    return value === null;
  }
  if (typeof value === "number" || typeof value === "bigint") {
    return true;
  }
  return value instanceof PythonFloat && (type === "number" || Number.isInteger(value.value));
}

function failures(schema: Schema, value: PythonValue, isFormat: IsFormat): Failure[] {
  return Object.keys(schema).flatMap((keyword) => {
    const found = NESTED[keyword]?.(schema, value, isFormat) ?? ownFailure(schema, keyword, value);
    return found.map((failure) => ({
      message: failure.message,
      keyword: failure.keyword ?? keyword,
      path: failure.path ?? [],
      schemaPath: [keyword, ...(failure.schemaPath ?? [])],
      schema: failure.schema ?? schema,
      instance: failure.instance === undefined ? value : failure.instance,
      context: failure.context ?? [],
      ...(failure.cause !== undefined && { cause: failure.cause }),
    }));
  });
}

type Found = Pick<Failure, "message"> & Partial<Failure>;

function ownFailure(schema: Schema, keyword: string, value: PythonValue): readonly Found[] {
  return IS_INVALID[keyword]?.(value, schema)
    ? [{ message: failureMessage(keyword, repr(value), schema[keyword as keyof Schema]) }]
    : [];
}

/** Checks of keywords that concern the value itself. */
const IS_INVALID: Readonly<Record<string, (value: PythonValue, schema: Schema) => boolean>> = {
  type: (value, { type = [] }) => ![type].flat().some((each) => isType(value, each as SchemaType)),
  minProperties: (value, { minProperties = 0 }) => value instanceof Map && value.size < minProperties,
  maxProperties: (value, { maxProperties = 0 }) => value instanceof Map && value.size > maxProperties,
  minItems: (value, { minItems = 0 }) => Array.isArray(value) && value.length < minItems,
  uniqueItems: (value) => Array.isArray(value) && new Set(value.map(repr)).size < value.length,
  minLength: (value, { minLength = 0 }) => typeof value === "string" && [...value].length < minLength,
  maxLength: (value, { maxLength = 0 }) => typeof value === "string" && [...value].length > maxLength,
  pattern: (value, { pattern = "" }) => typeof value === "string" && !pythonPattern(pattern).test(value),
  minimum: (value, { minimum = 0 }) => (numeric(value) ?? minimum) < minimum,
  maximum: (value, { maximum = 0 }) => (numeric(value) ?? maximum) > maximum,
  enum: (value, schema) => !(schema.enum ?? []).some((allowed) => allowed === value),
};

function numeric(value: PythonValue): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  return value instanceof PythonFloat ? value.value : undefined;
}

function descend(
  schema: Schema,
  value: PythonValue,
  isFormat: IsFormat,
  path: readonly (string | number)[],
  schemaPath: readonly (string | number)[],
): Found[] {
  return failures(schema, value, isFormat).map((failure) => ({
    ...failure,
    path: [...path, ...failure.path],
    schemaPath: [...schemaPath, ...failure.schemaPath],
  }));
}

/** Checks of keywords that concern members, and of those that have a message each. */
const NESTED: Readonly<Record<string, (schema: Schema, value: PythonValue, isFormat: IsFormat) => readonly Found[]>> = {
  properties: (schema, value, isFormat) =>
    value instanceof Map
      ? Object.entries(schema.properties ?? {}).flatMap(([key, sub]) => {
          const item = value.get(key);
          return item === undefined ? [] : descend(sub, item, isFormat, [key], [key]);
        })
      : [],
  patternProperties: (schema, value, isFormat) =>
    value instanceof Map
      ? Object.entries(schema.patternProperties ?? {}).flatMap(([pattern, sub]) =>
          [...value].flatMap(([key, item]) =>
            pythonPattern(pattern).test(key) ? descend(sub, item, isFormat, [key], [pattern]) : [],
          ),
        )
      : [],
  format: ({ format = "" }, value, isFormat) => {
    const result = isFormat(format, value);
    const message = failureMessage("format", repr(value), format);
    return result === true ? [] : [typeof result === "string" ? { message, cause: result } : { message }];
  },
  additionalProperties: (schema, value) => {
    if (!(value instanceof Map) || schema.additionalProperties === true) {
      return [];
    }
    const patterns = Object.keys(schema.patternProperties ?? {});
    const extras = [...value.keys()].filter(
      (key) =>
        !Object.hasOwn(schema.properties ?? {}, key) && !patterns.some((pattern) => pythonPattern(pattern).test(key)),
    );
    const names = extras.sort(compareText);
    if (names.length === 0) {
      return [];
    }
    if (patterns.length === 0) {
      return [{ message: unexpectedProperties(names) }];
    }
    const [subjects, regexes] = [names, patterns.sort(compareText)].map((strings) => strings.map(repr).join(", "));
    return [{ message: `${subjects} ${names.length === 1 ? "does" : "do"} not match any of the regexes: ${regexes}` }];
  },
  required: (schema, value) =>
    value instanceof Map
      ? (schema.required ?? []).filter((key) => !value.has(key)).map((key) => ({ message: missingProperty(key) }))
      : [],
  items: (schema, value, isFormat) =>
    Array.isArray(value) ? value.flatMap((item, at) => descend(schema.items ?? {}, item, isFormat, [at], [])) : [],
  anyOf: (schema, value, isFormat) => {
    const branches = (schema.anyOf ?? []).map((sub, at) => ({ at, found: failures(sub, value, isFormat) }));
    if (branches.some(({ found }) => found.length === 0)) {
      return [];
    }
    return [
      {
        message: failureMessage("anyOf", repr(value), schema.anyOf),
        context: branches.flatMap(({ at, found }) =>
          found.map((failure) => ({ ...failure, schemaPath: [at, ...failure.schemaPath] })),
        ),
      },
    ];
  },
  oneOf: (schema, value, isFormat) => {
    const { oneOf = [] } = schema;
    const branches = oneOf.map((sub, at) => ({ at, sub, found: failures(sub, value, isFormat) }));
    const [first, ...others] = branches.filter(({ found }) => found.length === 0);
    if (first === undefined) {
      const context = branches.flatMap(({ at, found }) =>
        found.map((failure) => ({ ...failure, schemaPath: [at, ...failure.schemaPath] })),
      );
      return [{ message: failureMessage("oneOf", repr(value), oneOf), context }];
    }
    const valid = [...others, first].map(({ sub }) => pythonRepr(sub)).join(", ");
    return others.length === 0 ? [] : [{ message: `${repr(value)} is valid under each of ${valid}` }];
  },
};
