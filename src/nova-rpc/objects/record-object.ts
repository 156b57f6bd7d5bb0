import { hasField } from "./cap.js";
import type { FieldCodec } from "./field-codec.js";
import { type NovaObject, novaObject, objectOf } from "./primitive.js";
import type { ReleaseProfile } from "./profile.js";

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
