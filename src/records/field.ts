import {
  Boolean as BooleanSchema,
  Integer,
  Number as NumberSchema,
  Object as ObjectSchema,
  Optional,
  type Static,
  String as StringSchema,
  type TObject,
  type TOptional,
  type TSchema,
  type TUnsafe,
  Unsafe,
} from "typebox";
import { HOST_NAME_PATTERN, HOST_NAME_RULE } from "./host-names.js";

/**
 * The field of a record, described once as JSON Schema. The TypeScript type ({@link RecordOf}), the validation of
 * messages, the store's column and the default are derived from it.
 */
export type Field<T> = TUnsafe<T> & JsonSchema;
/** A field that may be missing from an object. */
export type OptionalField<T> = TOptional<Field<T>>;
/** A field with a default for new records. */
export type FieldWithDefault<T> = Field<T> & { readonly default: T };

export interface JsonSchema {
  readonly type: string | readonly string[];
  readonly [keyword: string]: unknown;
}

export type FieldMap = Readonly<Record<string, TSchema>>;

export type RecordOf<F extends FieldMap> = { readonly [K in keyof F]: Static<F[K]> };

/** The largest value of Nova's integer columns. */
export const MAX_INTEGER = 2 ** 31 - 1;
/** Max characters of Nova's TEXT columns. */
export const LONG = 65_535;
/** Max characters of any string, such as tracebacks and JSON. */
export const LONGEST = 1024 * 1024;

function field<T>(schema: TSchema): Field<T> {
  return schema as Field<T>;
}

export function text(maxLength = 255): Field<string> {
  return field(StringSchema({ maxLength }));
}

export function integer(minimum: number, maximum: number): Field<number> {
  return field(Integer({ minimum, maximum }));
}

/** A name that is used as a key; never empty. */
export const name: Field<string> = field(StringSchema({ minLength: 1, maxLength: 255 }));
export const uuid: Field<string> = field(
  StringSchema({ pattern: "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$", description: "a UUID" }),
);
export const hostName: Field<string> = field(StringSchema({ pattern: HOST_NAME_PATTERN, description: HOST_NAME_RULE }));
export const flag: Field<boolean> = field(BooleanSchema());
export const id = integer(0, Number.MAX_SAFE_INTEGER);
/** Milliseconds since the epoch. */
export const time = integer(0, Number.MAX_SAFE_INTEGER);
export const amount = integer(0, MAX_INTEGER);
export const signed = integer(-MAX_INTEGER, MAX_INTEGER);
export const ratio: Field<number> = field(NumberSchema({ minimum: 0 }));

/** @param description describes valid strings, for error messages */
export function matching(pattern: string, description: string, maxLength: number): Field<string> {
  return field(StringSchema({ pattern, description, maxLength }));
}

export function oneOf<const T extends string>(values: readonly T[]): Field<T> {
  return field(Unsafe({ type: "string", enum: values }));
}

export function oneOfNumbers<const T extends number>(values: readonly T[]): Field<T> {
  return field(Unsafe({ type: "integer", enum: values }));
}

export function nullable<T>(inner: Field<T>): Field<T | null> {
  const withNull = Array.isArray(inner.enum) ? { enum: [...inner.enum, null] } : {};
  return field(Unsafe({ ...inner, ...withNull, type: [...[inner.type].flat(), "null"] }));
}

/** Returns whether a field is neither a list nor an object. */
export function hasOneValue({ type }: JsonSchema): boolean {
  return ![type].flat().some((name) => name === "array" || name === "object");
}

/** @param maxItems a limit for lists whose items are expensive to process; `MESSAGE_LIMITS.wire` limits every list */
export function listOf<T>(items: Field<T>, maxItems?: number): Field<readonly T[]> {
  return field(Unsafe({ type: "array", items, ...(maxItems === undefined ? {} : { maxItems }) }));
}

/** A map with any keys and values of one type. */
export function mapOf<T>(values: Field<T>): Field<Readonly<Record<string, T>>> {
  return field(Unsafe({ type: "object", additionalProperties: values }));
}

export const anyObject: Field<Readonly<Record<string, unknown>>> = field(Unsafe({ type: "object" }));

export function optional<T>(inner: Field<T>): OptionalField<T> {
  return Optional(inner) as unknown as OptionalField<T>;
}

/** An object with these fields only. */
export function object<const F extends FieldMap>(fields: F): Field<Static<TObject<F>>> {
  return field(ObjectSchema({ ...fields }, { additionalProperties: false }));
}

/** Makes all fields optional. */
export function partial<const F extends FieldMap>(fields: F): { readonly [K in keyof F]: OptionalField<Static<F[K]>> } {
  const entries = Object.entries(fields).map(([key, inner]) => [key, Optional(inner)]);
  return Object.fromEntries(entries) as { readonly [K in keyof F]: OptionalField<Static<F[K]>> };
}

/** Adds a default for new records to a field. */
export function withDefault<T, D extends T>(inner: Field<T>, value: D): FieldWithDefault<T> {
  return { ...inner, default: value } as unknown as FieldWithDefault<T>;
}

export type DefaultsOf<F extends FieldMap> = {
  readonly [K in keyof F as F[K] extends { readonly default: unknown } ? K : never]: Static<F[K]>;
};

/** Returns the defaults of a new record. */
export function defaultsOf<F extends FieldMap>(fields: F): DefaultsOf<F> {
  const entries = Object.entries(fields).flatMap(([key, inner]) =>
    "default" in inner ? [[key, structuredClone(inner.default)] as const] : [],
  );
  return Object.fromEntries(entries) as DefaultsOf<F>;
}

/** Returns these fields of a record. */
export function pick<F extends FieldMap>(record: RecordOf<F>, fields: F): RecordOf<F> {
  const entries = Object.keys(fields).map((key) => [key, record[key]]);
  return Object.fromEntries(entries) as RecordOf<F>;
}

/** Returns the fields except those named. */
export function without<F extends FieldMap, K extends keyof F>(fields: F, ...names: readonly K[]): Omit<F, K> {
  const entries = Object.entries(fields).filter(([key]) => !names.some((left) => left === key));
  return Object.fromEntries(entries) as Omit<F, K>;
}
