import type { AnySchemaObject } from "ajv";
import { PRINTABLE_CHARACTER } from "./formats.js";

const strings = (...values: string[]): AnySchemaObject => ({ type: "string", enum: values });

const TRUE = ["True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes", "y", "t"];
const FALSE = ["False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no", "n", "f"];

export const BOOLEAN = { type: ["boolean", "string"], enum: [true, ...TRUE, false, ...FALSE] };
export const NAME = { type: "string", minLength: 1, maxLength: 255, format: "name" };
export const DESCRIPTION = {
  type: ["string", "null"],
  minLength: 0,
  maxLength: 255,
  pattern: `^${PRINTABLE_CHARACTER}*$`,
};
export const POSITIVE_INTEGER = { type: ["integer", "string"], pattern: "^0*[1-9][0-9]*$", minimum: 1, minLength: 1 };
export const NON_NEGATIVE_INTEGER = { type: ["integer", "string"], pattern: "^[0-9]*$", minimum: 0, minLength: 1 };
export const UUID_TEXT = { type: "string", format: "uuid" };
export const HOSTNAME = { type: "string", minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._]*$" };
export const SHORT_HOSTNAME = {
  type: "string",
  minLength: 2,
  maxLength: 63,
  // Nova's pattern without its repetitions, which would let a long text cost the cube of its length.
  pattern: "^[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9]$",
};
export const ADMIN_PASSWORD = { type: "string", maxLength: 255 };
export const DISK_CONFIG = strings("AUTO", "MANUAL");
export const METADATA = {
  type: "object",
  patternProperties: { "^[a-zA-Z0-9-_:. ]{1,255}$": { type: "string", maxLength: 255 } },
  additionalProperties: false,
};
export const TAG = { type: "string", minLength: 1, maxLength: 60, pattern: "^[^,/]*$" };

/** Text or JSON that means yes or no, already valid by {@link BOOLEAN}. */
export const isTrue = (value: unknown): boolean => value === true || TRUE.includes(String(value));

/** As oslo's `bool_from_string` reads a query parameter: anything that isn't a yes is a no. */
export function boolFromText(text: string | undefined): boolean {
  return ["1", "t", "true", "on", "y", "yes"].includes((text ?? "").trim().toLowerCase());
}

/** The schema of a query's parameter, which is a list of texts: it may come several times. */
export function MULTI(schema: AnySchemaObject = { type: "string" }): AnySchemaObject {
  return {
    type: "array",
    items: schema,
  };
}
/** As {@link MULTI}, once. */
export function SINGLE(schema: AnySchemaObject = { type: "string" }): AnySchemaObject {
  return {
    type: "array",
    items: schema,
    maxItems: 1,
  };
}
export const INTEGER_TEXT = { type: "string", pattern: "^[0-9]*$", minLength: 1 };
