import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { TSchema } from "typebox";
import { ConductorError } from "../../conductor-client/errors.js";
import type { RemoteMethods } from "../../conductor-client/methods/method.js";
import { object } from "../../records/field.js";
import { describe } from "../store/record-fields.js";

/** A validation error: the first invalid field, and a message with the actual and the expected value. */
interface WrongField {
  readonly field: string;
  readonly text: string;
}

/**
 * Creates a compiler of validators for external values. The schemas are constants; a test validates them, so they are not
 * validated at each start. Optimizing the code would take longer than it saves.
 */
export function createSchemaCompiler(): (schema: TSchema) => ValidateFunction {
  const ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    validateSchema: false,
    meta: false,
    code: { optimize: false },
  });
  return (schema) => ajv.compile(schema);
}

/** Validates messages against a table of methods. Each schema is compiled on first use, which keeps the start fast. */
export class MethodChecks<T extends RemoteMethods> {
  readonly #compile = createSchemaCompiler();
  readonly #methods: T;
  readonly #params = new Map<keyof T, ValidateFunction>();
  readonly #results = new Map<keyof T, ValidateFunction>();

  constructor(methods: T) {
    this.#methods = methods;
  }

  /** @throws {InvalidParameters} with the first invalid field, its value and the expected one */
  checkParams(method: keyof T & string, params: unknown): void {
    const validate = this.#compiled(this.#params, method, (entry) => object(entry.params));
    if (!validate(params)) {
      const { field, text } = wrongField(validate, "params");
      throw new ConductorError("InvalidParameters", `${method}: ${text}`, { field });
    }
  }

  /** Returns true if the value is a valid result of the method. */
  isResult(method: keyof T, value: unknown): boolean {
    return this.#compiled(this.#results, method, (entry) => entry.result)(value);
  }

  #compiled(
    known: Map<keyof T, ValidateFunction>,
    method: keyof T,
    schemaOf: (entry: T[keyof T]) => TSchema,
  ): ValidateFunction {
    const compiled = known.get(method) ?? this.#compile(schemaOf(this.#methods[method]));
    known.set(method, compiled);
    return compiled;
  }
}

/** Describes a validator's first error, with field names relative to `root`. */
export function wrongField(validate: ValidateFunction, root: string): WrongField {
  const [error] = validate.errors ?? [];
  return error === undefined
    ? { field: root, text: "the value is invalid" }
    : { field: fieldOf(error, root), text: explain(error, root) };
}

function fieldOf({ instancePath, keyword, params }: ErrorObject, root: string): string {
  const path = `${root}${instancePath.replaceAll("/", ".")}`;
  if (keyword === "required") {
    return `${path}.${String(params.missingProperty)}`;
  }
  return keyword === "additionalProperties" ? `${path}.${String(params.additionalProperty)}` : path;
}

function explain(error: ErrorObject, root: string): string {
  const { keyword, params, parentSchema, data } = error;
  const field = fieldOf(error, root);
  switch (keyword) {
    case "required":
      return `${field}: found nothing, expected a value`;
    case "additionalProperties":
      return `${field}: unknown field, expected one of ${Object.keys(parentSchema?.properties ?? {}).join(", ") || "none"}`;
    case "enum":
      return `${field}: found ${describe(data)}, expected one of ${params.allowedValues.map(String).join(", ")}`;
    case "type":
      return `${field}: found ${describe(data)}, expected ${[params.type].flat().join(" or ")}`;
    case "pattern":
      return `${field}: found ${describe(data)}, expected ${parentSchema?.description}`;
    default:
      return `${field}: found ${describe(data)}, expected a value that ${error.message}`;
  }
}
