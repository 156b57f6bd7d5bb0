import type { AnySchemaObject, Format } from "ajv";
import { parseIsoTime } from "../../http/times.js";
import { isNamePattern } from "./name-pattern.js";

const UUID = /^(?:urn:uuid:)?\{?([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})\}?$/i;

/** Returns whether Nova accepts the string as a UUID, with or without hyphens. */
export const isUuidLike = (text: string): boolean => UUID.test(text);

/**
 * Characters of names and descriptions, as a part of a regular expression. Controls, format characters, unassigned
 * characters, and those beyond the first 65,535 (where Nova's table ends) are excluded.
 */
const PRINTABLE_CHARACTER = String.raw`[^\p{C}\p{Zl}\p{Zp}\u{ffff}-\u{10ffff}]`;

const PRINTABLE = new RegExp(String.raw`^(?!\s)${PRINTABLE_CHARACTER}*(?<!\s)$`, "u");

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Formats of Nova's schemas. Each checks strings only, in linear time. */
export const FORMATS: Readonly<Record<string, Format>> = {
  uuid: isUuidLike,
  "date-time": (text) => parseIsoTime(text) !== undefined,
  base64: (text) => BASE64.test(text.replaceAll(/\s/g, "")),
  name: (text) => text !== "" && PRINTABLE.test(text),
  name_with_spaces: (text) => text.trim() !== "" && PRINTABLE.test(text.trim()),
  az_name: (text) => text !== "" && PRINTABLE.test(text) && !text.includes(":"),
  regex: isNamePattern,
  ipv4: (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text) && !text.endsWith("."),
  ipv6: (text) => /^[0-9a-f:.]{2,45}$/i.test(text) && text.includes(":"),
};

const invalidName = (rule: string): string => `An invalid 'name' value was provided. The name must be: ${rule}`;

/** Nova's messages for strings without these formats. */
export const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  name: invalidName("printable characters. Can not start or end with whitespace."),
  name_with_spaces: invalidName("printable characters with at least one non space character"),
  az_name: invalidName("printable characters except :.Can not start or end with whitespace."),
};

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

export const IP_ADDRESS = { type: "string", anyOf: [{ format: "ipv4" }, { format: "ipv6" }] };

export const UUID_TEXT = { type: "string", format: "uuid" };

export const HOSTNAME = { type: "string", minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._]*$" };

export const SHORT_HOSTNAME = {
  type: "string",
  minLength: 2,
  maxLength: 63,
  // Nova's pattern without its nested repetitions, with which a long string takes cubic time.
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

/** Returns whether a value, already valid by {@link BOOLEAN}, is true. */
export const isTrue = (value: unknown): boolean => value === true || TRUE.includes(String(value));

/** Parses a query parameter as oslo's `bool_from_string` does: every unknown value is false. */
export function boolFromText(text: string | undefined): boolean {
  return ["1", "t", "true", "on", "y", "yes"].includes((text ?? "").trim().toLowerCase());
}

/** Returns the schema of a query parameter that may be repeated. Its value is the list of strings. */
export function MULTI(schema: AnySchemaObject = { type: "string" }): AnySchemaObject {
  return {
    type: "array",
    items: schema,
  };
}

/** Returns the schema of a query parameter that may occur once. */
export function SINGLE(schema: AnySchemaObject = { type: "string" }): AnySchemaObject {
  return {
    type: "array",
    items: schema,
    maxItems: 1,
  };
}

/** Returns the schema of an object with these properties and no others. */
export function object(properties: AnySchemaObject, required: readonly string[] = [], more: AnySchemaObject = {}) {
  return { type: "object", properties, required, additionalProperties: false, ...more };
}

/** Returns the schema of a body with one member: `{"server": …}`. */
export function bodyOf(member: string, schema: AnySchemaObject): AnySchemaObject {
  return object({ [member]: schema }, [member]);
}

/** Returns the schema of a query string. @param isOpen whether it may have other parameters */
export function querySchema(properties: AnySchemaObject, isOpen: boolean): AnySchemaObject {
  return { type: "object", properties, additionalProperties: isOpen };
}

/** Returns the versions of a query's schema. Before 2.75 Nova ignores other parameters. */
export function strictSince75(properties: AnySchemaObject) {
  return [
    [1, querySchema(properties, true)],
    [75, querySchema(properties, false)],
  ] as const;
}

export const INTEGER_TEXT = { type: "string", pattern: "^[0-9]*$", minLength: 1 };
