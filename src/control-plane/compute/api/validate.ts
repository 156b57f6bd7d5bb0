import type { ErrorObject } from "ajv";
import { badRequest } from "../../http/http-error.js";
import { instancePathOf, reportedError, schemaWords } from "../../http/schema-errors.js";
import { createCompiler, type SchemaVersions, schemaFor } from "../../http/schemas.js";
import { pythonStr } from "../../python/repr.js";
import { FORMAT_MESSAGES, FORMATS } from "./schema-parts.js";

const compile = createCompiler({ allErrors: true, formats: FORMATS });

type Input = "field/attribute" | "query parameters";

/**
 * Validates a body, or a query string whose parameters are lists of their values.
 * @param legacy ignores properties that the schema does not define
 * @throws {HttpError} 400 with the message of Nova's validation
 */
export function validate<T>(
  value: unknown,
  versions: SchemaVersions<T>,
  minor: number,
  what: Input,
  legacy = false,
): T {
  const schema = schemaFor(versions, minor);
  const check = schema && compile(schema);
  if (check && !check(value)) {
    const errors = (check.errors ?? []).filter((error) => !(legacy && error.keyword === "additionalProperties"));
    if (errors.length > 0) {
      throw badRequest(describe(errors, value, what));
    }
  }
  return value as T;
}

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
