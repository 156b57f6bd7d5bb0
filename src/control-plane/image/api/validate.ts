import { Ajv, type ValidateFunction } from "ajv";
import { instancePathOf, reportedError, schemaWords } from "../../http/schema-errors.js";
import { badRequest } from "./fault.js";

/** A schema as the API shows it; what it says is what bodies are judged by. */
export interface NamedSchema {
  readonly name: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly [more: string]: unknown;
}

const ajv = new Ajv({
  allErrors: true,
  strict: false,
  verbose: true,
  logger: false,
  validateFormats: false,
  validateSchema: false,
  meta: false,
  code: { optimize: false },
});

/** A schema is a constant of the program, and so is what is compiled of it, when it is first needed. */
const COMPILED = new WeakMap<NamedSchema, ValidateFunction>();

function compiled(schema: NamedSchema): ValidateFunction {
  const validate = COMPILED.get(schema) ?? ajv.compile(schema);
  COMPILED.set(schema, validate);
  return validate;
}

/** @throws {ImageFault} 400 worded as Glance's validation */
export function checkObject(value: unknown, schema: NamedSchema): void {
  const validate = compiled(schema);
  if (validate(value)) {
    return;
  }
  const errors = validate.errors ?? [];
  const error = reportedError(errors);
  const what = error === undefined ? "it is not valid" : schemaWords(error, errors);
  const where = error === undefined ? [] : instancePathOf(error);
  const place = where.length === 0 ? "" : `  On instance${where.map((part) => `['${part}']`).join("")}`;
  throw badRequest(`Provided object does not match schema '${schema.name}': ${what}${place}`);
}
