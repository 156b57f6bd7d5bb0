import { badRequest } from "../../http/http-error.js";
import { CONVERTERS } from "./converters.js";
import { type NetworkAttribute, type NetworkResource, type NetworkType, NOT_SPECIFIED } from "./network-resource.js";
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
      throw badRequest(`Cannot update read-only attribute ${name}`);
    }
    input[name] = value;
  }
  return convertAll(resource, input);
}

function rejectUnknown({ attributes }: NetworkResource, body: Body): void {
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(attributes, name) && name !== "tenant_id");
  if (unknown.length > 0) {
    throw badRequest(`Unrecognized attribute(s) '${unknown.join(", ")}'`);
  }
}

function convertAll({ attributes }: NetworkResource, input: Record<string, unknown>): Record<string, unknown> {
  for (const name of Object.keys(input)) {
    input[name] = convert(name, attributes[name] as NetworkAttribute, input[name]);
  }
  return input;
}

function convert(name: string, { type }: NetworkAttribute, value: unknown): unknown {
  const reason = failureOf(type, value);
  if (reason !== undefined) {
    throw badRequest(`Invalid input for ${name}. Reason: ${reason}.`);
  }
  const converted = type.converter === undefined ? value : converter(type.converter)(value);
  if (type.listConverter === undefined || !Array.isArray(converted)) {
    return converted;
  }
  return converted.map(converter(type.listConverter));
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
