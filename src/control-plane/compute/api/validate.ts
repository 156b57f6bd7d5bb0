import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Query } from "../../http/request.js";
import { instancePathOf, reportedError, schemaWords } from "../../http/schema-errors.js";
import { pythonStr } from "../../python/repr.js";
import { Fault } from "./fault.js";
import { FORMAT_MESSAGES, FORMATS } from "./schema-parts.js";

export type Schema = Readonly<Record<string, unknown>>;

/**
 * Schemas of one body or query by the minor from which each holds, oldest first. `T` is what a valid value is; the
 * schemas have to guarantee it.
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

// The schemas are this program's own: that they are valid is tested, not checked at each start. Optimised code would take
// longer to make than it saves.
const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  formats: FORMATS,
  validateSchema: false,
  meta: false,
  code: { optimize: false },
});

// Ajv compares objects pair by pair. The schemas ask it of texts only.
ajv.removeKeyword("uniqueItems").addKeyword({
  keyword: "uniqueItems",
  type: "array",
  schemaType: "boolean",
  validate: (mustBeUnique: boolean, items: readonly unknown[]) =>
    !mustBeUnique || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
});

/** A schema is a constant of the program, and so is what is compiled of it, when it is first needed. */
const COMPILED = new WeakMap<Schema, ValidateFunction>();

function compile(schema: Schema): ValidateFunction {
  const validate = COMPILED.get(schema) ?? ajv.compile(schema);
  COMPILED.set(schema, validate);
  return validate;
}

/** Judges bodies and query strings. */
export class SchemaValidator {
  /**
   * @param legacy members that the schema doesn't know are let pass
   * @throws {Fault} 400, worded as Nova's validation
   */
  body<T>(value: unknown, of: SchemaVersions<T>, version: number, legacy: boolean): T {
    this.#check(value, of, version, legacy, "field/attribute");
    return value as T;
  }

  /** Each parameter is judged as the list of its values. @throws {Fault} 400 */
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
      throw new Fault(400, describe(errors, value, what));
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
