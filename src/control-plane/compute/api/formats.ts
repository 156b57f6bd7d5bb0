import type { Format } from "ajv";
import { parseIsoTime } from "../../http/times.js";
import { isNamePattern } from "../servers/name-pattern.js";

const UUID = /^(?:urn:uuid:)?\{?([0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12})\}?$/i;

/** What Nova takes for a UUID, with or without hyphens. */
export const isUuidLike = (text: string): boolean => UUID.test(text);

/**
 * Characters of names and descriptions, as a part of a regular expression: no controls, no format characters, none without a
 * meaning, and none beyond the first 65,535, at which Nova's table ends.
 */
export const PRINTABLE_CHARACTER = String.raw`[^\p{C}\p{Zl}\p{Zp}\u{ffff}-\u{10ffff}]`;

const PRINTABLE = new RegExp(String.raw`^(?!\s)${PRINTABLE_CHARACTER}*(?<!\s)$`, "u");

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Formats of Nova's schemas. Each judges text only, in a time that grows with its length and no more. */
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

/** Nova's messages about texts that do not have these formats. */
export const FORMAT_MESSAGES: Readonly<Record<string, string>> = {
  name: invalidName("printable characters. Can not start or end with whitespace."),
  name_with_spaces: invalidName("printable characters with at least one non space character"),
  az_name: invalidName("printable characters except :.Can not start or end with whitespace."),
};
