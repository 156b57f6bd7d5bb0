import { badRequest, conflict } from "../../http/http-error.js";
import { networkError } from "./network-errors.js";
import {
  codePointLength,
  equalityKey,
  hasMultipleLines,
  isHashable,
  isTruthy,
  parseInteger,
  str,
  strip,
  unexpectedType,
  type Validator,
} from "./python-values.js";

/** Validators of strings, numbers, identifiers and names. */

const TRUE_STRINGS: readonly string[] = ["1", "t", "true", "on", "y", "yes"];
const FALSE_STRINGS: readonly string[] = ["0", "f", "false", "off", "n", "no"];

const UUID_DIGITS = /^[0-9a-f]{32}$/;

const DEFAULT_PORT_RANGE = [0, 65535] as const;
const MAX_PORT = 65535n;
const PORT_RANGE_FORM = "Port range must be two integers separated by a colon";

/** The types of service plugins of a Neutron with every plugin that needs no other service. */
const SERVICE_PLUGIN_TYPES: ReadonlySet<unknown> = new Set([
  "CORE",
  "L3_ROUTER_NAT",
  "METERING",
  "QOS",
  "trunk",
  "PORTFORWARDING",
  "segments",
  "FLAVORS",
  "auto-allocated-topology",
  "LOGGING",
  "CONNTRACKHELPER",
  "LOCAL_IP",
  "NDPPROXY",
  "NETWORK_SEGMENT_RANGE",
  "TAG",
  "timestamp",
  "network-ip-availability",
  "revision_plugin",
]);

const ETHERTYPES: readonly unknown[] = ["IPv4", "IPv6"];

/** The id of the subnet pool that stands for IPv6 prefix delegation. */
const PREFIX_DELEGATION = "prefix_delegation";

/** The device owners that Neutron accepts. It adds the prefix `compute:` to its list letter by letter. */
const SERVICE_TYPE = /^(?:network:|neutron:|[compute:])/;

/** Returns a validator that also accepts null. */
export function orNull(validate: Validator): Validator {
  return (value, parameter) => (value === null ? undefined : validate(value, parameter));
}

/** Returns a validator of a list without duplicates, each item of which `validate` accepts. */
export function listOf(validate: Validator): Validator {
  return (value, parameter) => {
    if (!Array.isArray(value)) {
      return `'${str(value)}' is not a list`;
    }
    const duplicates = findDuplicates(value);
    if (duplicates.length > 0) {
      return `Duplicate items in the list: '${duplicates.map(str).join(", ")}'`;
    }
    return firstFailure(value, (item) => validate(item, parameter));
  };
}

/** Returns the first message that `validate` returns for an item. */
export function firstFailure(
  items: Iterable<unknown>,
  validate: (item: unknown) => string | undefined,
): string | undefined {
  for (const item of items) {
    const message = validate(item);
    if (message !== undefined) {
      return message;
    }
  }
  return undefined;
}

/** Returns each item that occurs more than once, once. */
function findDuplicates(items: readonly unknown[]): readonly unknown[] {
  const keys = new Set<string>();
  const duplicates = new Map<string, unknown>();
  for (const item of items) {
    const key = equalityKey(item);
    if (keys.has(key) && !duplicates.has(key)) {
      duplicates.set(key, item);
    }
    keys.add(key);
  }
  return [...duplicates.values()];
}

export function validateString(value: unknown, maxLength: unknown): string | undefined {
  if (typeof value !== "string") {
    return `'${str(value)}' is not a valid string`;
  }
  return typeof maxLength === "number" && codePointLength(value) > maxLength
    ? `'${value}' exceeds maximum length of ${maxLength}`
    : undefined;
}

function validateNotEmptyString(value: unknown, maxLength: unknown): string | undefined {
  const message = validateString(value, maxLength);
  return message === undefined && strip(str(value)) === ""
    ? `'${str(value)}' Blank strings are not permitted`
    : message;
}

function validateOnelineNotEmptyString(value: unknown, maxLength: unknown): string | undefined {
  const message = validateNotEmptyString(value, maxLength);
  return message === undefined && hasMultipleLines(str(value))
    ? `Multi-line string is not allowed: '${str(value)}'`
    : message;
}

/** @throws {HttpError} 409 */
function validateNameNotDefault(value: unknown, maxLength: unknown): string | undefined {
  const message = validateString(value, maxLength);
  if (message === undefined && str(value).toLowerCase() === "default") {
    throw conflict("Default security group already exists.", "SecurityGroupDefaultAlreadyExists");
  }
  return message;
}

/** Reads a boolean as oslo.utils' `bool_from_string` does in strict mode. */
export function parseBoolean(value: unknown): boolean | undefined {
  const text = strip(str(value)).toLowerCase();
  if (TRUE_STRINGS.includes(text)) {
    return true;
  }
  return FALSE_STRINGS.includes(text) ? false : undefined;
}

function validateBoolean(value: unknown): string | undefined {
  return parseBoolean(value) === undefined ? `'${str(value)}' is not a valid boolean value` : undefined;
}

/** Checks that the value is one of a list. @throws {TypeError} if the attribute map has no list */
function validateValues(value: unknown, values: unknown): string | undefined {
  if (values === null || values === undefined) {
    return undefined;
  }
  if (!Array.isArray(values)) {
    throw new TypeError("'valid_values' does not support membership operations");
  }
  const key = equalityKey(value);
  return values.some((item) => equalityKey(item) === key) ? undefined : `${str(value)} is not in valid_values`;
}

function validateInteger(value: unknown, values: unknown): string | undefined {
  const message = validateValues(value, values);
  if (message !== undefined) {
    return message;
  }
  const isInfinite = typeof value === "number" && !Number.isFinite(value);
  const integer = isInfinite ? undefined : parseInteger(value);
  if (integer === undefined || !equalsFloat(integer, value)) {
    return `'${str(value)}' is not an integer`;
  }
  return typeof value === "boolean" ? `'${str(value)}' is not an integer:boolean` : undefined;
}

/** `int(value) == float(value)`: false for a string of digits that no float represents. */
function equalsFloat(integer: bigint, value: unknown): boolean {
  if (typeof value === "number") {
    return Number.isInteger(value);
  }
  const float = Number(integer);
  return Number.isFinite(float) && BigInt(float) === integer;
}

function validateRange(value: unknown, limits: unknown): string | undefined {
  const [min, max] = limits as readonly [number | null, number | null];
  const integer = parseInteger(value);
  if (integer === undefined) {
    return `'${str(value)}' is not an integer`;
  }
  if (min !== null && integer < min) {
    return `'${integer}' is too small - must be at least '${min}'`;
  }
  return max !== null && integer > max ? `'${integer}' is too large - must be no larger than '${max}'` : undefined;
}

function validateNonNegative(value: unknown): string | undefined {
  const integer = parseInteger(value);
  if (integer === undefined) {
    return `'${str(value)}' is not an integer`;
  }
  return integer < 0n ? `'${integer}' should be non-negative` : undefined;
}

/** Whether the value is a port number, as oslo.utils' `is_valid_port` reads one. */
export function isPort(value: unknown): boolean {
  const port = parseInteger(value);
  return port !== undefined && port >= 0n && port <= MAX_PORT;
}

function validatePortRange(value: unknown, limits: unknown): string | undefined {
  const [min, max] = (isTruthy(limits) ? limits : DEFAULT_PORT_RANGE) as readonly [number, number];
  const ports = str(value).split(":", 3);
  if (ports.length > 2) {
    return PORT_RANGE_FORM;
  }
  const message = firstFailure(ports, (port) => validatePort(port, min, max));
  if (message !== undefined) {
    return message;
  }
  const [first = 0n, last = first] = ports.map(parseInteger);
  return first > last ? "First port in a port range must be lower than the second port" : undefined;
}

function validatePort(port: unknown, min: number, max: number): string | undefined {
  if (port === "") {
    return PORT_RANGE_FORM;
  }
  const number = parseInteger(port);
  if (number === undefined || !isPort(port)) {
    return `Invalid port: ${port}`;
  }
  return number < min || number > max
    ? `Invalid port: ${port}, the port must be in the range [${min}, ${max}]`
    : undefined;
}

export function validateUuid(value: unknown): string | undefined {
  return typeof value === "string" && isUuid(value) ? undefined : `'${str(value)}' is not a valid UUID`;
}

/** Accepts the forms that oslo.utils' `is_uuid_like` does: with or without hyphens, braces and `urn:uuid:`. */
function isUuid(text: string): boolean {
  const digits = text.replaceAll("urn:", "").replaceAll("uuid:", "").replaceAll("-", "");
  return UUID_DIGITS.test(trimBraces(digits).toLowerCase());
}

function trimBraces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && "{}".includes(text.charAt(start))) {
    start += 1;
  }
  while (end > start && "{}".includes(text.charAt(end - 1))) {
    end -= 1;
  }
  return text.slice(start, end);
}

/** The attribute map has the pattern, which must match the start of the value. */
function validateRegex(value: unknown, pattern: unknown): string | undefined {
  const matches = typeof value === "string" && new RegExp(`^(?:${pattern})`, "u").test(value);
  return matches ? undefined : `'${str(value)}' is not a valid input`;
}

function validateEthertype(value: unknown): string | undefined {
  return ETHERTYPES.includes(value)
    ? undefined
    : `Ethertype ${str(value)} is not a valid ethertype, must be one of ${ETHERTYPES.join()}.`;
}

/** @throws {HttpError} 400 */
function validateServicePluginType(value: unknown): undefined {
  if (!isHashable(value)) {
    throw unexpectedType();
  }
  if (!SERVICE_PLUGIN_TYPES.has(value)) {
    throw networkError(400, "InvalidServiceType", `Invalid service type: ${str(value)}.`);
  }
}

function validateSubnetpoolId(value: unknown): string | undefined {
  return value === null || value === PREFIX_DELEGATION ? undefined : validateUuid(value);
}

/** @throws {HttpError} 400 */
function validateSubnetServiceTypes(value: unknown): undefined {
  if (!isTruthy(value)) {
    return;
  }
  if (!Array.isArray(value)) {
    throw badRequest("Subnet service types must be a list.");
  }
  for (const type of value) {
    if (typeof type !== "string") {
      const message = `Subnet service type ${str(type)} is not a string.`;
      throw networkError(400, "InvalidInputSubnetServiceType", message);
    }
    if (!SERVICE_TYPE.test(type)) {
      const message = `Subnet service type ${type} does not correspond to a valid device owner.`;
      throw networkError(400, "InvalidSubnetServiceType", message);
    }
  }
}

const validateUuids = listOf(validateUuid);

function validateNonEmptyUuids(value: unknown, parameter: unknown): string | undefined {
  const message = validateUuids(value, parameter);
  return message === undefined && !isTruthy(value) ? "List should not be empty" : message;
}

export const validateUniqueStrings = listOf(validateString);

export const VALUE_VALIDATORS: Readonly<Record<string, Validator>> = {
  "type:boolean": validateBoolean,
  "type:ethertype": validateEthertype,
  "type:integer": validateInteger,
  "type:list_of_regex_or_none": orNull(listOf(validateRegex)),
  "type:list_of_subnet_service_types": validateSubnetServiceTypes,
  "type:list_of_unique_strings": validateUniqueStrings,
  "type:name_not_default": validateNameNotDefault,
  "type:non_negative": validateNonNegative,
  "type:not_empty_string": validateNotEmptyString,
  "type:not_empty_string_or_none": orNull(validateNotEmptyString),
  "type:oneline_not_empty_string": validateOnelineNotEmptyString,
  "type:oneline_not_empty_string_or_none": orNull(validateOnelineNotEmptyString),
  "type:port_range": orNull(validatePortRange),
  "type:range": validateRange,
  "type:range_or_none": orNull(validateRange),
  "type:regex": validateRegex,
  "type:regex_or_none": orNull(validateRegex),
  "type:service_plugin_type": validateServicePluginType,
  "type:string": validateString,
  "type:string_or_none": orNull(validateString),
  "type:subnetpool_id": validateSubnetpoolId,
  "type:subnetpool_id_or_none": orNull(validateSubnetpoolId),
  "type:uuid": validateUuid,
  "type:uuid_list": validateUuids,
  "type:uuid_list_non_empty": validateNonEmptyUuids,
  "type:uuid_or_none": orNull(validateUuid),
  "type:values": validateValues,
};
