import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import { InvalidParameters } from "../../../conductor/errors.js";
import { type FieldMap, object } from "../../../records/field.js";
import { describe } from "../../store/check.js";

/** Checks parameters against a table of schemas; each is compiled when it is first needed, which keeps the start fast. */
export class Validator<M extends string> {
  // The schemas are this program's own: that they are valid is tested, not checked at each start. Optimised code would take
  // longer to make than it saves.
  readonly #ajv = new Ajv({
    strict: true,
    allowUnionTypes: true,
    verbose: true,
    validateSchema: false,
    meta: false,
    code: { optimize: false },
  });
  readonly #schemas: ReadonlyMap<string, FieldMap>;
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(schemas: Readonly<Record<M, FieldMap>>) {
    this.#schemas = new Map(Object.entries<FieldMap>(schemas));
  }

  /** Whether the table has this method. */
  knows(method: string): method is M {
    return this.#schemas.has(method);
  }

  /** @throws {InvalidParameters} naming the first field that is wrong, what was found and what was expected. */
  check(method: M, params: unknown): void {
    const validate = this.#validate(method);
    if (!validate(params)) {
      const [error] = validate.errors ?? [];
      throw new InvalidParameters(`${method}: ${error ? explain(error) : "the parameters are wrong"}`, {
        field: error ? fieldOf(error) : "params",
      });
    }
  }

  #validate(method: M): ValidateFunction {
    const compiled = this.#compiled.get(method) ?? this.#ajv.compile(object(this.#schemas.get(method) ?? {}));
    this.#compiled.set(method, compiled);
    return compiled;
  }
}

function fieldOf({ instancePath, keyword, params }: ErrorObject): string {
  const path = `params${instancePath.replaceAll("/", ".")}`;
  if (keyword === "required") {
    return `${path}.${String(params.missingProperty)}`;
  }
  return keyword === "additionalProperties" ? `${path}.${String(params.additionalProperty)}` : path;
}

function explain(error: ErrorObject): string {
  const { keyword, params, parentSchema, data } = error;
  const field = fieldOf(error);
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
