import { PythonFloat, type PythonValue } from "../../python/json.js";
import { compareText, pformat, repr } from "../../python/repr.js";
import { characters, pythonPattern, type Schema, type SchemaType } from "./json-schema.js";

/** Checks whether a string has the format `uuid`. Bodies and query strings have different rules. */
export type UuidFormat = (text: string) => boolean;

interface Failure {
  readonly message: string;
  readonly keyword: string;
  readonly path: readonly (string | number)[];
  /** The path in the schema, including the keyword. */
  readonly schemaPath: readonly (string | number)[];
  readonly schema: Schema;
  readonly instance: PythonValue;
  readonly context: readonly Failure[];
}

/**
 * Explains why a value is invalid, as `str()` of the error that Python's jsonschema 4.10 raises; undefined if it is
 * valid.
 * Uses jsonschema's best match of all errors, with the schema and the instance pretty-printed.
 */
export function explain(schema: Schema, value: PythonValue, uuid: UuidFormat): string | undefined {
  const best = bestMatch(failures(schema, value, uuid));
  if (best === undefined) {
    return undefined;
  }
  const schemaPath = index("schema", best.schemaPath.slice(0, -1));
  return [
    best.message,
    "",
    `Failed validating ${repr(best.keyword)} in ${schemaPath}:`,
    indent(pformat(pythonSchema(best.schema))),
    "",
    `On ${index("instance", best.path)}:`,
    indent(pformat(best.instance)),
  ].join("\n");
}

function index(container: string, path: readonly (string | number)[]): string {
  return container + path.map((part) => `[${repr(part)}]`).join("");
}

function indent(text: string): string {
  return text
    .split("\n")
    .map((line) => `    ${line}`)
    .join("\n");
}

/** Converts a schema to the Python object that upstream prints. */
function pythonSchema(schema: unknown): PythonValue {
  if (Array.isArray(schema)) {
    return schema.map(pythonSchema);
  }
  if (typeof schema === "object" && schema !== null) {
    return new Map(Object.entries(schema).map(([key, value]) => [key, pythonSchema(value)]));
  }
  if (typeof schema === "number" && schema > 1e30) {
    return new PythonFloat(schema);
  }
  if (typeof schema === "boolean" || typeof schema === "number" || typeof schema === "string") {
    return schema;
  }
  return null;
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
  return [-failure.path.length, failure.keyword === "anyOf" ? 0 : 1, matches ? 0 : 1];
}

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
  if (type === "null") {
    return value === null;
  }
  if (typeof value === "number" || typeof value === "bigint") {
    return true;
  }
  return value instanceof PythonFloat && (type === "number" || Number.isInteger(value.value));
}

function failures(schema: Schema, value: PythonValue, uuid: UuidFormat): Failure[] {
  return Object.keys(schema).flatMap((keyword) => {
    const found = KEYWORDS[keyword]?.(schema, value, uuid) ?? [];
    return found.map((failure) => ({
      message: failure.message,
      keyword: failure.keyword ?? keyword,
      path: failure.path ?? [],
      schemaPath: [keyword, ...(failure.schemaPath ?? [])],
      schema: failure.schema ?? schema,
      instance: failure.instance === undefined ? value : failure.instance,
      context: failure.context ?? [],
    }));
  });
}

type Found = Pick<Failure, "message"> & Partial<Failure>;
type Keyword = (schema: Schema, value: PythonValue, uuid: UuidFormat) => readonly Found[];

function descend(
  schema: Schema,
  value: PythonValue,
  uuid: UuidFormat,
  path: readonly (string | number)[],
  schemaPath: readonly (string | number)[],
): Found[] {
  return failures(schema, value, uuid).map((failure) => ({
    ...failure,
    path: [...path, ...failure.path],
    schemaPath: [...schemaPath, ...failure.schemaPath],
  }));
}

function when(failed: boolean, message: () => string): readonly Found[] {
  return failed ? [{ message: message() }] : [];
}

function numeric(value: PythonValue): number | bigint | undefined {
  if (typeof value === "number" || typeof value === "bigint") {
    return value;
  }
  return value instanceof PythonFloat ? value.value : undefined;
}

const KEYWORDS: Readonly<Record<string, Keyword>> = {
  type: (schema, value) => {
    const types = [schema.type ?? []].flat() as SchemaType[];
    return when(
      !types.some((type) => isType(value, type)),
      () => `${repr(value)} is not of type ${types.map(repr).join(", ")}`,
    );
  },
  properties: (schema, value, uuid) =>
    value instanceof Map
      ? Object.entries(schema.properties ?? {}).flatMap(([key, sub]) => {
          const item = value.get(key);
          return item === undefined ? [] : descend(sub, item, uuid, [key], [key]);
        })
      : [],
  patternProperties: (schema, value, uuid) =>
    value instanceof Map
      ? Object.entries(schema.patternProperties ?? {}).flatMap(([pattern, sub]) =>
          [...value].flatMap(([key, item]) =>
            pythonPattern(pattern).test(key) ? descend(sub, item, uuid, [key], [pattern]) : [],
          ),
        )
      : [],
  additionalProperties: (schema, value) => {
    if (!(value instanceof Map)) {
      return [];
    }
    const patterns = Object.keys(schema.patternProperties ?? {});
    const extras = [...value.keys()].filter(
      (key) =>
        !Object.hasOwn(schema.properties ?? {}, key) && !patterns.some((pattern) => pythonPattern(pattern).test(key)),
    );
    const names = [...extras].sort(compareText).map(repr).join(", ");
    return when(extras.length > 0, () =>
      schema.patternProperties === undefined
        ? `Additional properties are not allowed (${names} ${extras.length === 1 ? "was" : "were"} unexpected)`
        : `${names} ${extras.length === 1 ? "does" : "do"} not match any of the regexes: ` +
          [...patterns].sort(compareText).map(repr).join(", "),
    );
  },
  required: (schema, value) =>
    value instanceof Map
      ? (schema.required ?? [])
          .filter((key) => !value.has(key))
          .map((key) => ({ message: `${repr(key)} is a required property` }))
      : [],
  minProperties: (schema, value) =>
    when(
      value instanceof Map && value.size < (schema.minProperties ?? 0),
      () => `${repr(value)} does not have enough properties`,
    ),
  items: (schema, value, uuid) =>
    Array.isArray(value) ? value.flatMap((item, at) => descend(schema.items ?? {}, item, uuid, [at], [])) : [],
  minItems: (schema, value) =>
    when(Array.isArray(value) && value.length < (schema.minItems ?? 0), () => `${repr(value)} is too short`),
  uniqueItems: (_schema, value) =>
    when(
      Array.isArray(value) && new Set(value.map(repr)).size < value.length,
      () => `${repr(value)} has non-unique elements`,
    ),
  minLength: (schema, value) =>
    when(typeof value === "string" && characters(value) < (schema.minLength ?? 0), () => `${repr(value)} is too short`),
  maxLength: (schema, value) =>
    when(
      typeof value === "string" && characters(value) > (schema.maxLength ?? Number.POSITIVE_INFINITY),
      () => `${repr(value)} is too long`,
    ),
  pattern: (schema, value) =>
    when(
      typeof value === "string" && !pythonPattern(schema.pattern ?? "").test(value),
      () => `${repr(value)} does not match ${repr(schema.pattern ?? "")}`,
    ),
  format: (schema, value, uuid) =>
    when(typeof value === "string" && !uuid(value), () => `${repr(value)} is not a ${repr(schema.format ?? "")}`),
  minimum: (schema, value) => {
    const number = numeric(value);
    const limit = schema.minimum ?? 0;
    return when(
      number !== undefined && number < limit,
      () => `${repr(value)} is less than the minimum of ${repr(pythonSchema(limit))}`,
    );
  },
  maximum: (schema, value) => {
    const number = numeric(value);
    const limit = schema.maximum ?? 0;
    return when(
      number !== undefined && number > limit,
      () => `${repr(value)} is greater than the maximum of ${repr(pythonSchema(limit))}`,
    );
  },
  enum: (schema, value) =>
    when(
      !(schema.enum ?? []).some((allowed) => allowed === value),
      () => `${repr(value)} is not one of ${repr([...(schema.enum ?? [])])}`,
    ),
  anyOf: (schema, value, uuid) => {
    const branches = (schema.anyOf ?? []).map((sub, at) => ({ at, found: failures(sub, value, uuid) }));
    if (branches.some(({ found }) => found.length === 0)) {
      return [];
    }
    return [
      {
        message: `${repr(value)} is not valid under any of the given schemas`,
        context: branches.flatMap(({ at, found }) =>
          found.map((failure) => ({ ...failure, schemaPath: [at, ...failure.schemaPath] })),
        ),
      },
    ];
  },
};
