import { type TProperties, type TSchema, Type } from "typebox";

export const BOOLEAN = Type.Boolean();
export const TEXT = Type.String();
export const NAME = Type.String({ minLength: 1, maxLength: 255, pattern: "[\\S]+" });
export const SHORT_NAME = Type.String({ minLength: 1, maxLength: 64, pattern: "[\\S]+" });
export const ID = Type.String({ minLength: 1, maxLength: 64, pattern: "^[a-zA-Z0-9-]+$" });
export const URL_TEXT = Type.String({ maxLength: 225, pattern: "^[a-zA-Z0-9+.-]+:.+" });

/** Resource options: `immutable` is known to all kinds that have any. */
export const OPTIONS = Type.Object({ immutable: Type.Optional(orNull(Type.Boolean())) });

/** Python's jsonschema names both types. */
export function orNull<S extends TSchema>(schema: S) {
  const { type } = schema as unknown as { readonly type: string };
  return Type.Unsafe<Type.Static<S> | null>({ ...schema, type: [type, "null"] });
}

/** The body of a POST. Members that no schema knows are kept with the record, as Keystone keeps them. */
export function members<R extends TProperties, P extends TProperties>(required: R, optional: P) {
  const { properties } = Type.Partial(Type.Object(optional));
  return Type.Object({ ...required, ...properties });
}

/** The body of a PATCH: at least one member. */
export function changes<P extends TProperties>(properties: P) {
  return Type.Partial(Type.Object(properties), { minProperties: 1 });
}
