import { badRequest } from "../../http/http-error.js";
import { pythonJson } from "../../python/repr.js";
import { CONVERTERS } from "./converters.js";
import { invalidOperation, networkError } from "./network-errors.js";
import {
  type Dict,
  equalityKey,
  isDict,
  isHashable,
  isTruthy,
  str,
  unexpectedType,
  type Validator,
} from "./python-values.js";
import {
  ADDRESS_VALIDATORS,
  validateIpAddress,
  validateMacAddress,
  validateSubnet,
  verifyKeys,
} from "./validators-of-addresses.js";
import {
  firstFailure,
  listOf,
  orNull,
  VALUE_VALIDATORS,
  validateUniqueStrings,
  validateUuid,
} from "./validators-of-values.js";

/** Validators of dictionaries and of lists of dictionaries. */

/** The attribute map's rules for one key: `required`, `convert_to`, and a parameter beside a type. */
type KeySpec = Readonly<Record<string, unknown>>;

type KeySpecs = Readonly<Record<string, KeySpec>>;

/** Neutron's `max_allowed_address_pair`. */
const MAX_ADDRESS_PAIRS = 10;

/** Length of the column in which Neutron stores availability zone hints as JSON. */
const MAX_HINTS_LENGTH = 255;

const ADDRESS_PAIR_KEYS: readonly string[] = ["mac_address", "ip_address"];
const SEGMENT_KEYS: readonly string[] = [
  "provider:network_type",
  "provider:physical_network",
  "provider:segmentation_id",
];

/**
 * Checks that the value is a `dict` with the keys of the specs; without specs, that it is a `dict`.
 * As Neutron does, replaces members that a spec converts.
 */
function validateDict(value: unknown, specs: unknown): string | undefined {
  if (!isDict(value)) {
    return `'${str(value)}' is not a dictionary`;
  }
  return isTruthy(specs) ? validateMembers(value, specs as KeySpecs) : undefined;
}

function validateMembers(dict: Dict, specs: KeySpecs): string | undefined {
  const required = Object.keys(specs).filter((key) => isTruthy(specs[key]?.required));
  const message = required.length === 0 ? undefined : verifyKeys(dict, required, false);
  if (message !== undefined) {
    return message;
  }
  const unexpected = Object.keys(dict).filter((key) => !Object.hasOwn(specs, key));
  if (unexpected.length > 0) {
    return `Unexpected keys supplied: ${unexpected.join(", ")}`;
  }
  for (const [key, spec] of Object.entries(specs)) {
    const failure = Object.hasOwn(dict, key) ? validateMember(dict, key, spec) : undefined;
    if (failure !== undefined) {
      return failure;
    }
  }
  return undefined;
}

function validateMember(dict: Dict, key: string, spec: KeySpec): string | undefined {
  const convert = CONVERTERS[str(spec.convert_to)];
  if (convert !== undefined) {
    dict[key] = convert(dict[key]);
  }
  const type = Object.keys(spec).find((name) => name.startsWith("type:"));
  if (type === undefined) {
    return undefined;
  }
  const validate = VALUE_VALIDATORS[type] ?? ADDRESS_VALIDATORS[type] ?? OBJECT_VALIDATORS[type];
  return validate === undefined ? `Validator '${type}' does not exist` : validate(dict[key], spec[type]);
}

/** Checks that each `dict` of a list matches one of several specs. @throws {HttpError} 400 */
function validateAnyKeySpecs(value: unknown, alternatives: unknown): undefined {
  const message = listOf((item) => validateAnyKeySpec(item, alternatives as readonly KeySpecs[]))(value, null);
  if (message !== undefined) {
    throw invalidOperation(message);
  }
}

function validateAnyKeySpec(value: unknown, alternatives: readonly KeySpecs[]): string | undefined {
  return alternatives.some((specs) => validateDict(value, specs) === undefined)
    ? undefined
    : `No valid key specs matched for: ${str(value)}`;
}

/** @throws {HttpError} 400 */
function validateAddressPairs(value: unknown): string | undefined {
  if (!Array.isArray(value)) {
    throw badRequest("Allowed address pairs must be a list.");
  }
  if (value.length > MAX_ADDRESS_PAIRS) {
    throw networkError(
      400,
      "AllowedAddressPairExhausted",
      `The number of allowed address pair exceeds the maximum ${MAX_ADDRESS_PAIRS}.`,
    );
  }
  const known = new Set<string>();
  return firstFailure(value, (pair) => validateAddressPair(pair, known));
}

/** Adds the pair to `known`. */
function validateAddressPair(pair: unknown, known: Set<string>): string | undefined {
  if (!isDict(pair)) {
    return `'${str(pair)}' is not a dictionary`;
  }
  const hasMac = Object.hasOwn(pair, "mac_address");
  rejectIfInvalid(hasMac ? validateMacAddress(pair.mac_address) : undefined);
  if (!Object.hasOwn(pair, "ip_address")) {
    throw networkError(400, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address");
  }
  const address = pair.ip_address;
  const mac = hasMac ? pair.mac_address : null;
  const key = equalityKey([mac, address]);
  if (!isHashable(address)) {
    throw unexpectedType();
  }
  if (known.has(key)) {
    throw networkError(
      400,
      "DuplicateAddressPairInRequest",
      `Request contains duplicate address pair: mac_address ${str(mac)} ip_address ${str(address)}.`,
    );
  }
  known.add(key);
  rejectUnknownKeys(pair, ADDRESS_PAIR_KEYS);
  if (typeof address !== "string") {
    throw unexpectedType();
  }
  rejectIfInvalid(address.includes("/") ? validateSubnet(address) : validateIpAddress(address));
  return undefined;
}

function rejectIfInvalid(message: string | undefined): void {
  if (message !== undefined) {
    throw badRequest(message);
  }
}

function rejectUnknownKeys(dict: Dict, keys: readonly string[]): void {
  const unknown = Object.keys(dict).filter((key) => !keys.includes(key));
  if (unknown.length > 0) {
    throw badRequest(`Unrecognized attribute(s) '${unknown.join(", ")}'`);
  }
}

/**
 * Converts the segmentation ids of a network's segments to integers, in place. An empty one is removed.
 * @throws {HttpError} 400
 */
function validateNetworkSegments(value: unknown): undefined {
  if (!Array.isArray(value)) {
    if (value === null || typeof value === "number" || typeof value === "boolean" || isTruthy(value)) {
      throw unexpectedType();
    }
    return;
  }
  for (const segment of value) {
    if (!isDict(segment)) {
      throw unexpectedType();
    }
    const id = segment["provider:segmentation_id"];
    if (isTruthy(id)) {
      segment["provider:segmentation_id"] = CONVERTERS.convert_to_int?.(id);
    } else {
      delete segment["provider:segmentation_id"];
    }
    rejectUnknownKeys(segment, SEGMENT_KEYS);
  }
}

/** @throws {HttpError} 400 */
function validateAvailabilityZoneHints(value: unknown): string | undefined {
  const message = validateUniqueStrings(value, null);
  if (message === undefined && asciiJsonLength(value) > MAX_HINTS_LENGTH) {
    throw invalidOperation("Too many availability_zone_hints specified");
  }
  return message;
}

/** The length of Python's JSON, which writes other characters than printable ASCII as `\uXXXX`. */
function asciiJsonLength(value: unknown): number {
  const text = pythonJson(value);
  return text.length + (text.match(/[^ -~]/g)?.length ?? 0) * ("\\uXXXX".length - 1);
}

function validateSubports(value: unknown): string | undefined {
  if (!Array.isArray(value)) {
    return `Invalid data format for subports: '${str(value)}' is not a list`;
  }
  const ports = new Set<unknown>();
  const segmentations = new Set<string>();
  for (const subport of value) {
    const message = validateSubportPort(subport, ports);
    if (message !== undefined) {
      return message;
    }
    // As in Neutron, subports behind one that inherits its segmentation are not checked.
    if (subport.segmentation_type === "inherit") {
      return undefined;
    }
    const failure = validateSegmentation(subport, segmentations);
    if (failure !== undefined) {
      return failure;
    }
  }
  return undefined;
}

/** Adds the port to `ports`. */
function validateSubportPort(subport: unknown, ports: Set<unknown>): string | undefined {
  if (!isDict(subport)) {
    return `Invalid data format for subport: '${str(subport)}' is not a dict`;
  }
  if (!Object.hasOwn(subport, "port_id")) {
    return "A valid port UUID must be specified";
  }
  const port = subport.port_id;
  if (validateUuid(port) !== undefined) {
    return `Invalid UUID for subport: '${str(port)}'`;
  }
  if (ports.has(port)) {
    return `Non unique UUID for subport: '${str(port)}'`;
  }
  ports.add(port);
  return undefined;
}

/** Adds the segmentation to `segmentations`. */
function validateSegmentation(subport: Dict, segmentations: Set<string>): string | undefined {
  const { segmentation_type: type = null, segmentation_id: id = null, port_id: port } = subport;
  if ((!isTruthy(type) || id === null) && Object.keys(subport).length > 1) {
    return `Invalid subport details '${str(subport)}': missing segmentation information. Must specify both segmentation_id and segmentation_type`;
  }
  if (!isHashable(type) || !isHashable(id)) {
    throw unexpectedType();
  }
  const key = equalityKey([type, id]);
  if (segmentations.has(key)) {
    return `Segmentation ID '${str(id)}' for '${str(port)}' is not unique`;
  }
  if (id !== null) {
    segmentations.add(key);
  }
  return undefined;
}

export const OBJECT_VALIDATORS: Readonly<Record<string, Validator>> = {
  "type:allowed_address_pairs": validateAddressPairs,
  "type:availability_zone_hint_list": validateAvailabilityZoneHints,
  "type:dict": validateDict,
  "type:dict_or_empty": (value, specs) => (isDict(value) && !isTruthy(value) ? undefined : validateDict(value, specs)),
  "type:dict_or_nodata": (value, specs) => (isTruthy(value) ? validateDict(value, specs) : undefined),
  "type:dict_or_none": orNull(validateDict),
  "type:list_of_any_key_specs_or_none": orNull(validateAnyKeySpecs),
  "type:network_segments": validateNetworkSegments,
  "type:subports": validateSubports,
};
