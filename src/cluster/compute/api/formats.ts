import type { AnySchemaObject, Format } from "ajv";
import { parseIsoTime } from "../../http/times.js";

const UUID = /^(?:urn:uuid:)?\{?([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})\}?$/i;

/** What Nova takes for a UUID, with or without hyphens. */
export const isUuidLike = (text: string): boolean => UUID.test(text);

const PRINTABLE = /^(?![\s])[^\p{Cc}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]*(?<!\s)$/u;

/** Formats of Nova's schemas. Each judges text only. */
export const FORMATS: Readonly<Record<string, Format>> = {
  uuid: isUuidLike,
  "date-time": (text) => parseIsoTime(text) !== undefined,
  base64: (text) => /^(?:[A-Za-z0-9+/\s]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?\s*$/.test(text),
  name: (text) => text !== "" && PRINTABLE.test(text),
  az_name: (text) => text !== "" && PRINTABLE.test(text) && !text.includes(":"),
  regex: (text) => isRegex(text),
  ipv4: (text) => /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.|$)){4}$/.test(text) && !text.endsWith("."),
  ipv6: (text) => /^[0-9a-f:.]{2,45}$/i.test(text) && text.includes(":"),
};

/** Formats whose error has a text of its own, and that text's reason. */
export const INVALID_NAME: Readonly<Record<string, string>> = {
  name: "printable characters. Can not start or end with whitespace.",
  az_name: "printable characters except :.Can not start or end with whitespace.",
};

const isRegex = (text: string): boolean => {
  try {
    return text !== "" && new RegExp(text, "u") instanceof RegExp;
  } catch {
    return false;
  }
};

// ---- parts that many schemas share

const strings = (...values: string[]): AnySchemaObject => ({ type: "string", enum: values });

const TRUE = ["True", "TRUE", "true", "1", "ON", "On", "on", "YES", "Yes", "yes", "y", "t"];
const FALSE = ["False", "FALSE", "false", "0", "OFF", "Off", "off", "NO", "No", "no", "n", "f"];

export const BOOLEAN = { type: ["boolean", "string"], enum: [true, ...TRUE, false, ...FALSE] };
export const NAME = { type: "string", minLength: 1, maxLength: 255, format: "name" };
export const DESCRIPTION = {
  type: ["string", "null"],
  minLength: 0,
  maxLength: 255,
  pattern: String.raw`^[^\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]*$`,
};
export const POSITIVE_INTEGER = { type: ["integer", "string"], pattern: "^0*[1-9][0-9]*$", minimum: 1, minLength: 1 };
export const NON_NEGATIVE_INTEGER = { type: ["integer", "string"], pattern: "^[0-9]+$", minimum: 0, minLength: 1 };
export const UUID_TEXT = { type: "string", format: "uuid" };
export const HOSTNAME = { type: "string", minLength: 1, maxLength: 255, pattern: "^[a-zA-Z0-9-._]*$" };
export const SHORT_HOSTNAME = {
  type: "string",
  minLength: 2,
  maxLength: 63,
  pattern: "^[a-zA-Z0-9]+[a-zA-Z0-9-]*[a-zA-Z0-9]+$",
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
export const boolFromText = (text: string | undefined): boolean =>
  ["1", "t", "true", "on", "y", "yes"].includes((text ?? "").trim().toLowerCase());

// ---- parts of query schemas: each parameter is a list of texts

/** May come several times. */
export const MULTI = (schema: AnySchemaObject = { type: "string" }): AnySchemaObject => ({
  type: "array",
  items: schema,
});
/** May come once. */
export const SINGLE = (schema: AnySchemaObject = { type: "string" }): AnySchemaObject => ({
  type: "array",
  items: schema,
  maxItems: 1,
});
export const INTEGER_TEXT = { type: "string", pattern: "^[0-9]*$", minLength: 1 };
