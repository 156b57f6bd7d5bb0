import { isObject } from "../../runtime/collections.js";
import { hasField, MalformedObject, type NovaObject, novaObject, type ObjectData, objectOf } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";

/** How one field of a record is written in an object of Nova, where it has the same name in snake_case. */
export interface FieldCodec<T> {
  /** @param data the whole object, for what stands in two places */
  read(value: unknown, data: ObjectData): T;
  /** Null: the field is never written. */
  readonly write: ((value: T, profile: ReleaseProfile) => unknown) | null;
}

type JsonType = "string" | "number" | "boolean";

type Of<K extends JsonType> = K extends "string" ? string : K extends "number" ? number : boolean;

export const text = (fallback?: string): FieldCodec<string> => scalar("string", fallback);

export const number = (fallback?: number): FieldCodec<number> => scalar("number", fallback);

export const flag = (fallback?: boolean): FieldCodec<boolean> => scalar("boolean", fallback);

/** Milliseconds; Nova writes UTC in whole seconds. */
export const timestamp: FieldCodec<number> = {
  read: (value) => {
    const milliseconds = typeof value === "string" ? Date.parse(withZone(value)) : Number.NaN;
    if (Number.isNaN(milliseconds)) {
      throw new MalformedObject("expected a time in ISO 8601");
    }
    return milliseconds;
  },
  write: isoSeconds,
};

/** A time that a row gets when it is written, and an object has only after that: 0 until then. */
export const rowTime: FieldCodec<number> = readOnly({
  ...timestamp,
  read: (value, data) => (value === undefined || value === null ? 0 : timestamp.read(value, data)),
});

const withZone = (iso: string): string => (/(Z|[+-]\d\d:?\d\d)$/i.test(iso) ? iso : `${iso}Z`);

/** Text by text; numbers are written as texts, as Nova has them. Absent and null are empty. */
export const stringRecord: FieldCodec<Readonly<Record<string, string>>> = {
  read: (value) => {
    if (value === undefined || value === null) {
      return {};
    }
    if (!isObject(value)) {
      throw new MalformedObject("expected texts by name");
    }
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item ?? "")]));
  },
  write: (value) => Object.fromEntries(Object.entries(value).map(([key, item]) => [key, String(item)])),
};

/** Rows are deleted with their id in our records, and with a flag here. */
export const deletedId: FieldCodec<number> = readOnly({
  read: (value, { id }) => (value === true ? number(1).read(id, {}) : 0),
  write: null,
});

/** One kind of record as an object of Nova: a row for each field of the record. */
export interface RecordObject<R> {
  /** Nova's name of the object. */
  readonly name: string;
  readonly fields: { readonly [K in keyof R]-?: FieldCodec<R[K]> };
}

/** @throws {MalformedObject} another object, or a field that is no such value */
export function readRecord<R>(kind: RecordObject<R>, value: unknown): R {
  const data = objectOf(value, kind.name)["nova_object.data"];
  const entries = codecsOf(kind).map(([field, codec]) => [field, codec.read(data[novaName(field)], data)]);
  return Object.fromEntries(entries) as R;
}

/** What the object of a profile has of a record, or of changes to one, by Nova's names. */
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

/** A new object of the profile's version, every field of which is to be saved. */
export function writeRecord<R>(kind: RecordObject<R>, values: Partial<R>, profile: ReleaseProfile): NovaObject {
  return builtObject(kind.name, fieldsOf(kind, values, profile), profile);
}

/** A new object of the profile's version. @param changes default: every field that is given */
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

/** A field that is the same in both. Absent or null: `fallback`; without one, that is refused. */
function scalar<K extends JsonType>(type: K, fallback?: Of<K>): FieldCodec<Of<K>> {
  return {
    read: (value) => {
      const resolved = value ?? fallback;
      if (typeof resolved !== type) {
        throw new MalformedObject(`expected a ${type}, found ${resolved === null ? "null" : typeof resolved}`);
      }
      return resolved as Of<K>;
    },
    write: (value) => value,
  };
}

/** A number for each of the fields. */
export function numbers<K extends string>(
  fields: Readonly<Record<K, unknown>>,
  fallback?: number,
): Readonly<Record<K, FieldCodec<number>>> {
  const codec = number(fallback);
  return Object.fromEntries(Object.keys(fields).map((field) => [field, codec])) as Record<K, FieldCodec<number>>;
}

/** One of the words of an enumeration; its members are trusted to be those of the record. */
export function word<T extends string>(fallback?: T): FieldCodec<T> {
  return text(fallback) as unknown as FieldCodec<T>;
}

/** One of the numbers of an enumeration. */
export function code<T extends number>(fallback: T): FieldCodec<T> {
  return number(fallback) as unknown as FieldCodec<T>;
}

/** Absent and null are null. */
export function nullable<T>(inner: FieldCodec<T>): FieldCodec<T | null> {
  const { write } = inner;
  return {
    ...inner,
    read: (value, data) => (value === undefined || value === null ? null : inner.read(value, data)),
    write: write && ((value, profile) => (value === null ? null : write(value, profile))),
  };
}

/** A field that the agent reads only. */
export function readOnly<T>(inner: FieldCodec<T>): FieldCodec<T> {
  return { ...inner, write: null };
}

/** What Nova has no field for: the record has this value, or what `read` finds elsewhere in the object. */
export function unknownToNova<T>(read: (data: ObjectData) => T): FieldCodec<T> {
  return { read: (_value, data) => read(data), write: null };
}

/** `2026-11-22T02:00:41Z` */
export function isoSeconds(milliseconds: number): string {
  return new Date(milliseconds).toISOString().replace(/\.\d+Z$/, "Z");
}
