import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Static, TSchema } from "typebox";
import { schemaWords } from "../../http/schema-errors.js";
import { IdentityError } from "./identity-error.js";

// The schemas are this program's own: that they are valid is tested, not checked at each start.
const ajv = new Ajv({ strict: false, verbose: true, validateSchema: false, meta: false, code: { optimize: false } });

/** A schema is a constant of the program, and so is what is compiled of it, when it is first needed. */
const COMPILED = new WeakMap<TSchema, ValidateFunction>();

/** @throws {IdentityError} 400, worded as the first lines of Keystone's validation: those that follow show the schema */
export function checkBody<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const validate = COMPILED.get(schema) ?? ajv.compile(schema);
  COMPILED.set(schema, validate);
  if (!validate(value)) {
    const errors = validate.errors ?? [];
    const error = errors.at(-1);
    throw new IdentityError(400, error ? wording(error, errors) : "The request body is not valid.");
  }
  return value as Static<S>;
}

function wording(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const text = schemaWords(error, errors);
  const field = error.instancePath.split("/").at(-1);
  return field === "" ? text : `Invalid input for field '${field}': ${text}`;
}
