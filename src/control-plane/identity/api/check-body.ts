import type { ErrorObject } from "ajv";
import type { Static, TSchema } from "typebox";
import { badRequest } from "../../http/http-error.js";
import { schemaWords } from "../../http/schema-errors.js";
import { createCompiler } from "../../http/schemas.js";

const compile = createCompiler({ allErrors: false });

/**
 * Validates a body. The message has only the first lines of Keystone's: the remaining ones print the schema.
 * @throws {HttpError} 400
 */
export function checkBody<S extends TSchema>(schema: S, value: unknown): Static<S> {
  const validate = compile(schema);
  if (!validate(value)) {
    const errors = validate.errors ?? [];
    const error = errors.at(-1);
    throw badRequest(error ? wording(error, errors) : "The request body is not valid.");
  }
  return value as Static<S>;
}

function wording(error: ErrorObject, errors: readonly ErrorObject[]): string {
  const text = schemaWords(error, errors);
  const field = error.instancePath.split("/").at(-1);
  return field === "" ? text : `Invalid input for field '${field}': ${text}`;
}
