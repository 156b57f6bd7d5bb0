import { Ajv, type Options, type ValidateFunction } from "ajv";

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
  return { versions };
}

/** Returns the schema of a microversion; undefined before the first. */
export function schemaFor({ versions }: SchemaVersions<unknown>, minor: number): Schema | undefined {
  return versions.findLast(([from]) => from <= minor)?.[1];
}

/** Creates a function that compiles schemas. A schema is a constant of the program and is compiled when first used. */
export function createCompiler(options: Options): (schema: object) => ValidateFunction {
  const ajv = new Ajv({
    strict: false,
    verbose: true,
    logger: false,
    // A test checks that the schemas are valid, so that the start need not.
    validateSchema: false,
    meta: false,
    // Optimising the generated code would take longer than it saves.
    code: { optimize: false },
    ...options,
  });
  // Ajv compares objects pairwise. The schemas use this keyword for strings only.
  ajv.removeKeyword("uniqueItems").addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    validate: (mustBeUnique: boolean, items: readonly unknown[]) =>
      !mustBeUnique || new Set(items.map((item) => JSON.stringify(item))).size === items.length,
  });
  const compiled = new WeakMap<object, ValidateFunction>();
  return (schema) => {
    const validate = compiled.get(schema) ?? ajv.compile(schema);
    compiled.set(schema, validate);
    return validate;
  };
}
