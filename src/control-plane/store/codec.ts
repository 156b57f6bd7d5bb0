import { hasOneValue, type JsonSchema, LONGEST, text } from "../../records/field.js";
import type { SqlValue } from "../database/database-file.js";
import { checkOf } from "./check.js";

export type { SqlValue };

/** How one field of a record is kept in a column. */
export interface Codec<T> {
  /** @throws {InvalidParameters} when the value is not what the column holds. */
  encode(value: unknown, field: string): SqlValue;
  decode(raw: SqlValue): T;
}

const jsonText = checkOf(text(LONGEST));

/**
 * Derives the column of a field from its description: lists and objects are kept as JSON, true and false as 1 and 0,
 * everything else as it is.
 */
export function codecOf(schema: JsonSchema): Codec<unknown> {
  const verify = checkOf(schema);
  if ([schema.type].flat().includes("boolean")) {
    return {
      encode(value, field) {
        verify(value, field);
        return value ? 1 : 0;
      },
      decode: (raw) => raw === 1,
    };
  }
  if (!hasOneValue(schema)) {
    return {
      encode(value, field) {
        verify(value, field);
        if (value === null) {
          return null;
        }
        const encoded = JSON.stringify(value);
        jsonText(encoded, field);
        return encoded;
      },
      decode: (raw) => (raw === null ? null : JSON.parse(String(raw))),
    };
  }
  return {
    encode(value, field) {
      verify(value, field);
      return value as SqlValue;
    },
    decode: (raw) => raw,
  };
}
