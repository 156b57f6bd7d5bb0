import type { Schema } from "../../http/schemas.js";

/** Characters of descriptions. Controls, format characters, unassigned characters and those beyond 65,535 are excluded. */
const PRINTABLE = String.raw`^[^\p{C}\p{Zl}\p{Zp}\u{ffff}-\u{10ffff}]*$`;

const TRUE = ["True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes", "y", "t"];
const FALSE = ["False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no", "n", "f"];

/** Parts of the schemas of bodies, by Cinder's names of them. */
export const BOOLEAN_TEXT = { type: ["boolean", "string"], enum: [true, ...TRUE, false, ...FALSE] };
export const UUID = { type: "string", format: "uuid" };
export const UUID_OR_NULL = { oneOf: [UUID, { type: "null" }] };
export const NULL_OR_UUID = { oneOf: [{ type: "null" }, UUID] };
export const NAME = { type: ["string", "null"], minLength: 0, maxLength: 255 };
export const DESCRIPTION = { type: ["string", "null"], minLength: 0, maxLength: 255, pattern: PRINTABLE };
export const REQUIRED_NAME = { type: "string", minLength: 1, maxLength: 255, format: "name" };

function members(type: unknown, pattern: string, value: Schema): Schema {
  return { type, patternProperties: { [pattern]: value }, additionalProperties: false };
}

const KEY = "^[a-zA-Z0-9-_:. /]{1,255}$";
const SPEC_KEY = "^[a-zA-Z0-9-_:.]{1,255}$";
const TEXT_VALUE = { type: "string", maxLength: 255 };
const TEXT_OR_NULL_VALUE = { type: ["string", "null"], maxLength: 255 };

export const METADATA = members("object", KEY, TEXT_VALUE);
export const METADATA_OR_NULL = members(["object", "null"], KEY, TEXT_VALUE);
/** Specs whose values may be null. */
export const SPECS = members("object", KEY, TEXT_OR_NULL_VALUE);
export const EXTRA_SPECS = members("object", SPEC_KEY, NAME);
export const GROUP_SPECS = members("object", SPEC_KEY, TEXT_OR_NULL_VALUE);

/** Exactly one member. */
export const ONE = { minProperties: 1, maxProperties: 1 };

/** Returns the schema of an object with these properties and no others. */
export function object(properties: Schema, required?: readonly string[], more: Schema = {}): Schema {
  return { type: "object", properties, ...(required && { required }), additionalProperties: false, ...more };
}

/** Returns the schema of a body with one member: `{"volume": …}`. */
export const bodyOf = (member: string, schema: Schema): Schema => object({ [member]: schema }, [member]);

/** Returns whether a value, already valid by {@link BOOLEAN_TEXT}, is true. */
export const isTrue = (value: unknown): boolean => value === true || TRUE.includes(String(value));

/** Parses a query parameter as oslo's `bool_from_string` does: every unknown value is false. */
export function booleanFromText(text: string | undefined): boolean {
  return ["1", "t", "true", "on", "y", "yes"].includes((text ?? "").trim().toLowerCase());
}

/** Parses a boolean strictly; undefined for anything else. */
export function strictBoolean(text: string): boolean | undefined {
  const lowered = text.trim().toLowerCase();
  if (["1", "t", "true", "on", "y", "yes"].includes(lowered)) {
    return true;
  }
  return ["0", "f", "false", "off", "n", "no"].includes(lowered) ? false : undefined;
}
