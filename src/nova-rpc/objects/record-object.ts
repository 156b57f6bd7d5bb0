import { isObject } from "../../runtime/collections.js";
import { NovaRpcError } from "../errors.js";
import { hasField, type NovaObject, novaObject, type ObjectData, objectOf } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";

/** Converts one field of a record to and from an object of Nova, where it has the same name in snake_case. */
export interface FieldCodec<T> {
  /** @param data all fields of the object, for values in two fields */
  read(value: unknown, data: ObjectData): T;
  /** Null if the field is never written. */
  readonly write: ((value: T, profile: ReleaseProfile) => unknown) | null;
}

type JsonType = "string" | "number" | "boolean";

type Of<K extends JsonType> = K extends "string" ? string : K extends "number" ? number : boolean;

export const text = (fallback?: string): FieldCodec<string> => scalar("string", fallback);

export const number = (fallback?: number): FieldCodec<number> => scalar("number", fallback);

export const flag = (fallback?: boolean): FieldCodec<boolean> => scalar("boolean", fallback);

/** Milliseconds since the epoch; Nova writes UTC with a precision of one second. */
export const timestamp: FieldCodec<number> = {
  read: (value) => {
    const milliseconds = typeof value === "string" ? Date.parse(withZone(value)) : Number.NaN;
    if (Number.isNaN(milliseconds)) {
      throw new NovaRpcError("MalformedObject", "expected a time in ISO 8601");
    }
    return milliseconds;
  },
  write: isoSeconds,
};

/** A time that is set when the row is written; 0 until then. */
export const rowTime: FieldCodec<number> = readOnly({
  ...timestamp,
  read: (value, data) => (value === undefined || value === null ? 0 : timestamp.read(value, data)),
});

const withZone = (iso: string): string => (/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);

/** Strings by name; numbers are written as strings, as in Nova. Absent and null become empty. */
export const stringRecord: FieldCodec<Readonly<Record<string, string>>> = {
  read: (value) => {
    if (value === undefined || value === null) {
      return {};
    }
    if (!isObject(value)) {
      throw new NovaRpcError("MalformedObject", "expected strings by name");
    }
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item ?? "")]));
  },
  write: (value) => Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item)])),
};

/** Our records mark a deleted row with its id, Nova's objects with a flag. */
export const deletedId: FieldCodec<number> = readOnly({
  read: (value, { id }) => (value === true ? number(1).read(id, {}) : 0),
  write: null,
});

/** Converters between one kind of record and an object of Nova, by field of the record. */
export interface RecordObject<R> {
  /** Nova's name of the object. */
  readonly name: string;
  readonly fields: { readonly [K in keyof R]-?: FieldCodec<R[K]> };
}

/** @throws {MalformedObject} another object, or a field with an invalid value */
export function readRecord<R>(kind: RecordObject<R>, value: unknown): R {
  const data = objectOf(value, kind.name)["nova_object.data"];
  const entries = codecsOf(kind).map(([field, codec]) => [field, codec.read(data[novaName(field)], data)]);
  return Object.fromEntries(entries) as R;
}

/** Converts a record, or changes of one, to the fields that the object has in the profile, by Nova's names. */
export function fieldsOf<R>(
  kind: RecordObject<R>,
  values: Partial<R>,
  profile: ReleaseProfile,
): Readonly<Record<string, unknown>> {
  const rawValues = values as Readonly<Record<string, unknown>>;
  const entries = codecsOf(kind).flatMap(([field, codec]) => {
    const name = novaName(field);
    const isWritten = codec.write !== null && rawValues[field] !== undefined && hasField(profile, kind.name, name);
    return isWritten ? [[name, codec.write?.(rawValues[field], profile)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Creates an object with the profile's version; all its fields are unsaved. */
export function writeRecord<R>(kind: RecordObject<R>, values: Partial<R>, profile: ReleaseProfile): NovaObject {
  return builtObject(kind.name, fieldsOf(kind, values, profile), profile);
}

/** Creates an object with the profile's version. @param changes default: every field in `data` */
export function builtObject(
  name: string,
  data: Readonly<Record<string, unknown>>,
  profile: ReleaseProfile,
  changes?: readonly string[],
): NovaObject {
  const version = profile.objects.get(name);
  if (version === undefined) {
    throw new Error(`${profile.release} has no object ${name}`);
  }
  return novaObject(name, version, data, changes);
}

function codecsOf<R>(kind: RecordObject<R>): [string, FieldCodec<unknown>][] {
  return Object.entries(kind.fields) as [string, FieldCodec<unknown>][];
}

function novaName(field: string): string {
  return field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A field with the same value in both. Absent or null becomes `fallback`; without a fallback it is rejected. */
function scalar<K extends JsonType>(type: K, fallback?: Of<K>): FieldCodec<Of<K>> {
  return {
    read: (value) => {
      const resolved = value ?? fallback;
      if (typeof resolved !== type) {
        throw new NovaRpcError(
          "MalformedObject",
          `expected a ${type}, found ${resolved === null ? "null" : typeof resolved}`,
        );
      }
      return resolved as Of<K>;
    },
    write: (value) => value,
  };
}

/** Returns a number codec for each of the fields. */
export function numbers<K extends string>(
  fields: Readonly<Record<K, unknown>>,
  fallback?: number,
): Readonly<Record<K, FieldCodec<number>>> {
  const codec = number(fallback);
  return Object.fromEntries(Object.keys(fields).map((field) => [field, codec])) as Record<K, FieldCodec<number>>;
}

/** One of the strings of an enumeration; not validated. */
export function word<T extends string>(fallback?: T): FieldCodec<T> {
  return text(fallback) as unknown as FieldCodec<T>;
}

/** One of the numbers of an enumeration; not validated. */
export function code<T extends number>(fallback: T): FieldCodec<T> {
  return number(fallback) as unknown as FieldCodec<T>;
}

/** Absent and null become null. */
export function nullable<T>(inner: FieldCodec<T>): FieldCodec<T | null> {
  const { write } = inner;
  return {
    ...inner,
    read: (value, data) => (value === undefined || value === null ? null : inner.read(value, data)),
    write: write && ((value, profile) => (value === null ? null : write(value, profile))),
  };
}

/** A field that is never written. */
export function readOnly<T>(inner: FieldCodec<T>): FieldCodec<T> {
  return { ...inner, write: null };
}

/** A field that Nova does not have: `read` returns a constant, or a value from another field of the object. */
export function unknownToNova<T>(read: (data: ObjectData) => T): FieldCodec<T> {
  return { read: (_value, data) => read(data), write: null };
}

/** Formats a time as `2026-11-22T02:00:41Z`. */
export function isoSeconds(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
