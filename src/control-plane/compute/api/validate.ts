import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { HttpError } from "../../http/http-error.js";
import type { Query } from "../../http/request.js";
import { instancePathOf, reportedError, schemaWords } from "../../http/schema-errors.js";
import { pythonStr } from "../../python/repr.js";
import { FORMAT_MESSAGES, FORMATS } from "./schema-parts.js";

export type Schema = Readonly<Record<string, unknown>>;

/**
 * Schemas of one body or query by the minor microversion that introduced them, oldest first. `T` is the type of a valid
 * value; the schemas have to guarantee it.
 */
export interface SchemaVersions<T> {
  readonly versions: readonly (readonly [from: number, schema: Schema])[];
  /** For the type system only. */
  readonly type?: T;
}

export function schemas<T>(...versions: (readonly [from: number, schema: Schema])[]): SchemaVersions<T> {
  return {
    versions,
  };
}

// The schemas are constants of this program. A test checks that they are valid, so that the start need not. Optimising
// the generated code would take longer than it saves.
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  formats: FORMATS,
  validateSchema: false,
  meta: false,
  code: { optimize: false },
});

// Ajv compares objects pairwise. The schemas use this keyword for strings only.
ajv.removeKeyword("uniqueItems").addKeyword({
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (mustBeUnique: boolean, items: readonly unknown[]) =>
    !mustBeUnique || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
});

/** Compiled schemas. A schema is a constant of the program and is compiled when first used. */
const COMPILED = new WeakMap<Schema, ValidateFunction>();

function compile(schema: Schema): ValidateFunction {
  const validate = COMPILED.get(schema) ?? ajv.compile(schema);
  COMPILED.set(schema, validate);
  return validate;
}

/** Validates bodies and query strings. */
export class SchemaValidator {
  /**
   * @param legacy ignores properties that the schema does not define
   * @throws {HttpError} 400 with the message of Nova's validation
   */
  body<T>(value: unknown, of: SchemaVersions<T>, version: number, legacy: boolean): T {
    this.#check(value, of, version, legacy, "field/attribute");
    return value as T;
  }

  /** Validates a query string; each parameter's value is the list of its values. @throws {HttpError} 400 */
  query(query: Query, of: SchemaVersions<unknown>, version: number): void {
    this.#check(Object.fromEntries(query.lists()), of, version, false, "query parameters");
  }

  #check(value: unknown, of: SchemaVersions<unknown>, version: number, legacy: boolean, what: Input): void {
    const schema = of.versions.findLast(([from]) => from <= version)?.[1];
    if (!schema) {
      return;
    }
    const validate = compile(schema);
    if (validate(value)) {
      return;
    }
    const errors = (validate.errors ?? []).filter((error) => !(legacy && error.keyword === "additionalProperties"));
    if (errors.length > 0) {
      throw new HttpError(400, describe(errors, value, what));
    }
  }
}

type Input = "field/attribute" | "query parameters";

function describe(errors: readonly ErrorObject[], value: unknown, what: Input): string {
  const best = reportedError(errors);
  if (!best) {
    return "Malformed request body";
  }
  const path = instancePathOf(best);
  const formatMessage = best.keyword === "format" ? FORMAT_MESSAGES[String(best.params.format)] : undefined;
  if (formatMessage !== undefined) {
    return formatMessage;
  }
  const message = schemaWords(best, errors);
  const field = what === "field/attribute" ? path.at(-1) : path[0];
  return field === undefined
    ? message
    : `Invalid input for ${what} ${field}. Value: ${pythonStr(best.data ?? value)}. ${message}`;
}
