import type { SqlValue } from "../database/database-file.js";
import * as check from "./check.js";

export type { SqlValue };

/** How one field of a record is kept in a column. */
export interface Codec<T> {
  /** @throws {InvalidParameters} when the value is not what the column holds. */
  encode(value: unknown, field: string): SqlValue;
  decode(raw: SqlValue): T;
}

/** Longest JSON text of a column, in characters. */
const JSON_LENGTH = 1024 * 1024;

function plain<T extends SqlValue>(verify: check.Check): Codec<T> {
  return {
    encode(value, field) {
      verify(value, field);
      return value as T;
    },
    decode: (raw) => raw as T,
  };
}

export const text = (most?: number): Codec<string> => plain(check.text(most));
export const textOrNull = (most?: number): Codec<string | null> => plain(check.nullable(check.text(most)));
export const uuid: Codec<string> = plain(check.uuid);
export const integer = (least?: number, most?: number): Codec<number> => plain(check.integer(least, most));
export const integerOrNull = (least?: number, most?: number): Codec<number | null> =>
  plain(check.nullable(check.integer(least, most)));
export const ratio: Codec<number> = plain(check.ratio);
export const oneOf = <T extends string | number>(allowed: readonly T[]): Codec<T> => plain(check.oneOf(allowed));
export const oneOfOrNull = <T extends string | number>(allowed: readonly T[]): Codec<T | null> =>
  plain(check.nullable(check.oneOf(allowed)));

/** The id of a row. */
export const rowId: Codec<number> = integer(0);
export const rowIdOrNull: Codec<number | null> = integerOrNull(0);
/** Milliseconds since the epoch. */
export const time: Codec<number> = plain(check.integer());
export const timeOrNull: Codec<number | null> = plain(check.nullable(check.integer()));

export const flag: Codec<boolean> = {
  encode(value, field) {
    check.flag(value, field);
    return value ? 1 : 0;
  },
  decode: (raw) => raw === 1,
};

export function json<T>(verify: check.Check): Codec<T> {
  return {
    encode(value, field) {
      verify(value, field);
      const encoded = JSON.stringify(value);
      check.text(JSON_LENGTH)(encoded, field);
      return encoded;
    },
    decode: (raw) => JSON.parse(String(raw)) as T,
  };
}

export function jsonOrNull<T>(verify: check.Check): Codec<T | null> {
  const inner = json<T>(verify);
  return {
    encode: (value, field) => (value === null ? null : inner.encode(value, field)),
    decode: (raw) => (raw === null ? null : inner.decode(raw)),
  };
}
