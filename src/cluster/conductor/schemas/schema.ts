/** A JSON Schema that remembers whether its field may be left out. */
export interface Schema {
  readonly kind: "schema";
  readonly json: JsonSchema;
}

export interface OptionalSchema {
  readonly kind: "optional";
  readonly json: JsonSchema;
}

export interface JsonSchema {
  readonly type: string | readonly string[];
  readonly [keyword: string]: unknown;
}

/** One schema a field of `T`; a field that `T` gains or loses, or that becomes optional, does not compile here. */
export type Fields<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? OptionalSchema : Schema;
};

const schema = (json: JsonSchema): Schema => ({ kind: "schema", json });

export const optional = (inner: Schema): OptionalSchema => ({ kind: "optional", json: inner.json });

export const text = (maxLength = 255): Schema => schema({ type: "string", maxLength });
/** A name that is used as a key: never empty. */
export const name: Schema = schema({ type: "string", minLength: 1, maxLength: 255 });
export const uuid: Schema = schema({
  type: "string",
  pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$",
});
export const flag: Schema = schema({ type: "boolean" });
export const integer = (minimum: number, maximum: number): Schema => schema({ type: "integer", minimum, maximum });
/** The id of a row, or a time in milliseconds. */
export const id: Schema = integer(0, Number.MAX_SAFE_INTEGER);
export const amount: Schema = integer(0, 2 ** 31 - 1);
export const signed: Schema = integer(-(2 ** 31 - 1), 2 ** 31 - 1);
export const ratio: Schema = schema({ type: "number", minimum: 0 });
export const oneOf = (values: readonly string[]): Schema => schema({ type: "string", enum: values });
export const oneOfNumbers = (values: readonly number[]): Schema => schema({ type: "integer", enum: values });

export function nullable({ json }: Schema): Schema {
  const withNull = Array.isArray(json.enum) ? { enum: [...json.enum, null] } : {};
  return schema({ ...json, ...withNull, type: [...[json.type].flat(), "null"] });
}

export const listOf = (items: Schema): Schema => schema({ type: "array", items: items.json });

/** Any keys, values of one kind. */
export const mapOf = (values: Schema): Schema => schema({ type: "object", additionalProperties: values.json });

/** Any object. */
export const anyObject: Schema = schema({ type: "object" });

export function object<T>(fields: Fields<T>): Schema {
  const entries = Object.entries<Schema | OptionalSchema>(fields);
  return schema({
    type: "object",
    properties: Object.fromEntries(entries.map(([field, { json }]) => [field, json])),
    required: entries.filter(([, { kind }]) => kind === "schema").map(([field]) => field),
    additionalProperties: false,
  });
}

/** All fields of a record as ones that may be left out. */
export function partial<T>(fields: { readonly [K in keyof T]-?: Schema }): {
  readonly [K in keyof T]-?: OptionalSchema;
} {
  const entries = Object.entries<Schema>(fields).map(([field, inner]) => [field, optional(inner)]);
  return Object.fromEntries(entries) as { readonly [K in keyof T]-?: OptionalSchema };
}
