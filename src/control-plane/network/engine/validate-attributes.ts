import { badRequest } from "../../http/http-error.js";
import { CONVERTERS } from "./converters.js";
import { type NetworkAttribute, type NetworkResource, type NetworkType, NOT_SPECIFIED } from "./network-resource.js";
import { isTruthy } from "./python-values.js";
import { VALIDATORS } from "./validators.js";

export type Body = Readonly<Record<string, unknown>>;

/**
 * Validates the attributes of a create; returns them with defaults, converted. Attributes that are neither in the
 * request nor have a default are absent.
 * @throws {HttpError} 400 for the first failure, in Neutron's order
 */
export function readCreate(resource: NetworkResource, body: Body): Record<string, unknown> {
  rejectUnknown(resource, body);
  const input: Record<string, unknown> = {};
  for (const [name, attribute] of Object.entries(resource.attributes)) {
    const value = body[name];
    if (!attribute.post) {
      if (value !== undefined) {
        throw badRequest(`Attribute '${name}' not allowed in POST`);
      }
    } else if (value !== undefined) {
      input[name] = value;
    } else if (attribute.default === undefined) {
      throw badRequest(`Failed to parse request. Required attribute '${name}' not specified`);
    } else if (attribute.default !== NOT_SPECIFIED) {
      input[name] = attribute.default;
    }
  }
  return convertAll(resource, input);
}

/** Validates the attributes of an update; returns them, converted. @throws {HttpError} 400 */
export function readUpdate(resource: NetworkResource, body: Body): Record<string, unknown> {
  rejectUnknown(resource, body);
  const input: Record<string, unknown> = {};
  for (const [name, attribute] of Object.entries(resource.attributes)) {
    const value = body[name];
    if (value === undefined) {
      continue;
    }
    if (!attribute.put) {
      throw badRequest(`Cannot update read-only attribute ${neutronName(resource, name)}`);
    }
    input[name] = value;
  }
  return convertAll(resource, input);
}

/** Collections whose descriptions in Neutron have the newer name of the owner. */
const WITH_NEWER_OWNER: readonly string[] = ["bindings", "conntrack_helpers", "port_associations", "port_forwardings"];

/** Neutron copies the owner to both names, and checks that of its description first. */
function neutronName({ collection }: NetworkResource, name: string): string {
  return name === "project_id" && !WITH_NEWER_OWNER.includes(collection) ? "tenant_id" : name;
}

function rejectUnknown({ attributes }: NetworkResource, body: Body): void {
  const unknown = Object.keys(body).filter((name) => !isKnown(attributes[name]) && name !== "tenant_id");
  if (unknown.length > 0) {
    throw badRequest(`Unrecognized attribute(s) '${unknown.join(", ")}'`);
  }
}

/** Columns of the service's own, which have no default, are unknown to requests. */
function isKnown(attribute: NetworkAttribute | undefined): boolean {
  if (attribute === undefined) {
    return false;
  }
  const { visible = true, post = false, filter = false, default: preset } = attribute;
  return visible || post || filter || preset !== undefined;
}

function convertAll(resource: NetworkResource, input: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(input)) {
    input[name] = convert(resource, name, input[name]);
  }
  return input;
}

/** Converts a value of a filter. A list converter is the behaviour's. @throws {HttpError} 400 */
export function convertFilter({ converter: name, listConverter }: NetworkType, value: string): unknown {
  return name === undefined || listConverter !== undefined ? value : converter(name)(value);
}

/** Converts a value before it validates it, as Neutron does. */
function convert(resource: NetworkResource, name: string, value: unknown): unknown {
  const { type } = resource.attributes[name] as NetworkAttribute;
  const converted = type.converter === undefined ? value : converter(type.converter)(value);
  const reason = failureOf(type, converted);
  if (reason !== undefined) {
    throw badRequest(`Invalid input for ${neutronName(resource, name)}. Reason: ${reason}.`);
  }
  return isEmptyList(type, converted) ? [] : converted;
}

/** Validators that loop over a value without a check of its type: Python finds no items in an empty text or dictionary. */
const LOOPING_VALIDATORS: readonly string[] = [
  "type:list_of_subnet_service_types",
  "type:nameservers",
  "type:network_segments",
];

function isEmptyList({ validator }: NetworkType, value: unknown): boolean {
  return validator !== undefined && LOOPING_VALIDATORS.includes(validator) && value !== null && !isTruthy(value);
}

function failureOf({ validator, parameter }: NetworkType, value: unknown): string | undefined {
  if (validator === undefined) {
    return undefined;
  }
  const validate = VALIDATORS[validator];
  if (validate === undefined) {
    throw new Error(`no validator ${validator}`);
  }
  return validate(value, parameter);
}

function converter(name: string): (value: unknown) => unknown {
  const convertValue = CONVERTERS[name];
  if (convertValue === undefined) {
    throw new Error(`no converter ${name}`);
  }
  return convertValue;
}
