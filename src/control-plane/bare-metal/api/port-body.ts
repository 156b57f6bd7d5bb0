import { isObject } from "../../../runtime/collections.js";
import { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { unexpectedProperties } from "../../http/schema-errors.js";
import { pythonRepr } from "../../python/repr.js";
import type { JsonObject } from "../node-store.js";
import type { PortChanges } from "../port-store.js";
import { booleanArgument, isMac, macArgument, uuidArgument } from "./call.js";

interface LinkSchema {
  readonly fields: readonly string[];
  readonly networkTypes: readonly string[];
  readonly required: readonly string[];
}

interface SchemaError {
  /** 0 for an error of the object itself, 1 for an error of a member. */
  readonly depth: 0 | 1;
  readonly text: string;
}

const FIELDS = ["port_id", "switch_id", "hostname", "switch_info", "network_type"];

const NAME = "local_link_connection";

const SMART_NIC: LinkSchema = {
  fields: FIELDS,
  networkTypes: ["managed", "unmanaged"],
  required: ["port_id", "hostname"],
};

/** The four schemas of a connection, of which it must match one; the last is an empty object. */
const SCHEMAS: readonly LinkSchema[] = [
  { ...SMART_NIC, required: ["port_id", "switch_id"] },
  SMART_NIC,
  { fields: FIELDS, networkTypes: ["unmanaged"], required: ["network_type"] },
  { fields: [], networkTypes: [], required: [] },
];

/** Attributes of a port's body with their JSON types, in the order of Ironic's schema. */
const TYPES: Readonly<Record<string, readonly string[]>> = {
  address: ["string"],
  extra: ["object", "null"],
  is_smartnic: ["string", "boolean", "null"],
  local_link_connection: ["null", "object"],
  node_uuid: ["string"],
  physical_network: ["string", "null"],
  portgroup_uuid: ["string", "null"],
  pxe_enabled: ["string", "boolean", "null"],
  uuid: ["string", "null"],
};

export const PATCHABLE_PORT_FIELDS: readonly string[] = Object.keys(TYPES).filter((name) => name !== "uuid");

const REQUIRED = ["address", "node_uuid"];

const MAX_PHYSICAL_NETWORK = 64;

/** A validated port body, without the attributes that the request lacks. */
export interface PortBody extends PortChanges {
  readonly address: string;
  readonly node_uuid: string;
  readonly uuid?: string;
  readonly portgroup_uuid?: string | null;
}

/** @param what `port` or `patch`, for error messages @throws {HttpError} 400; 500 if pxe_enabled is null, as in Ironic */
export function readPortBody(body: unknown, what: "port" | "patch"): PortBody {
  checkSchema(body, what);
  const fields = body as Readonly<Record<string, Json>>;
  const read: Record<string, unknown> = { address: macArgument("address", fields.address) };
  read.node_uuid = uuidArgument("node_uuid", fields.node_uuid);
  if (fields.is_smartnic !== undefined) {
    read.is_smartnic =
      fields.is_smartnic === null
        ? what === "port"
          ? false
          : null
        : booleanArgument("is_smartnic", fields.is_smartnic);
  }
  if (fields.local_link_connection !== undefined) {
    read.local_link_connection = checkLocalLink((fields.local_link_connection ?? {}) as JsonObject);
  }
  if (fields.portgroup_uuid != null) {
    read.portgroup_uuid = uuidArgument("portgroup_uuid", fields.portgroup_uuid);
  }
  if (fields.pxe_enabled !== undefined) {
    read.pxe_enabled = fields.pxe_enabled === null ? null : booleanArgument("pxe_enabled", fields.pxe_enabled);
  }
  if (fields.uuid != null) {
    read.uuid = uuidArgument("uuid", fields.uuid);
  }
  if (fields.extra !== undefined) {
    read.extra = fields.extra ?? {};
  }
  if (fields.physical_network !== undefined) {
    read.physical_network = fields.physical_network;
  }
  return read as unknown as PortBody;
}

/** @throws {HttpError} 400 */
function checkSchema(body: unknown, what: string): void {
  const wrong = (text: string) => new HttpError(400, `Schema error for ${what}: ${text}`);
  if (!isObject(body)) {
    throw wrong(`${pythonRepr(body)} is not of type 'object'`);
  }
  const missing = REQUIRED.find((name) => body[name] === undefined);
  if (missing !== undefined) {
    throw wrong(`'${missing}' is a required property`);
  }
  const unknown = Object.keys(body).filter((name) => !Object.hasOwn(TYPES, name));
  if (unknown.length > 0) {
    throw wrong(unexpectedProperties(unknown.toSorted()));
  }
  for (const [name, types] of Object.entries(TYPES)) {
    const value = body[name];
    if (value !== undefined && !types.includes(typeOf(value))) {
      throw wrong(`${pythonRepr(value)} is not of type ${types.map((type) => `'${type}'`).join(", ")}`);
    }
    if (name === "physical_network" && typeof value === "string" && value.length > MAX_PHYSICAL_NETWORK) {
      throw wrong(`${pythonRepr(value)} is too long`);
    }
  }
}

function typeOf(value: unknown): string {
  return value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
}

/** Validates a port's connection to a switch and normalizes the switch id. @throws {HttpError} 400 */
function checkLocalLink(value: JsonObject): JsonObject {
  const errors = SCHEMAS.map((schema) => errorsOf(value, schema));
  if (errors.every(({ length }) => length > 0)) {
    throw new HttpError(400, `Schema error for ${NAME}: ${describe(value, errors.flat())}`);
  }
  const { switch_id: id } = value;
  if (typeof id !== "string") {
    return value;
  }
  if (!isMac(id) && !/^[0-9a-f]{16}$/i.test(id)) {
    throw new HttpError(400, `Expected a MAC address or OpenFlow datapath ID but received ${id}.`);
  }
  return { ...value, switch_id: id.toLowerCase() };
}

export function isSmartNicLink(value: JsonObject): boolean {
  return errorsOf(value, SMART_NIC).length === 0;
}

/** Selects the error that Python's jsonschema reports: a single error of a member, otherwise the object's first one. */
function describe(value: JsonObject, errors: readonly SchemaError[]): string {
  const ofMembers = errors.filter(({ depth }) => depth === 1);
  const [single] = ofMembers;
  if (single && ofMembers.length === 1) {
    return single.text;
  }
  const cause = errors.find(({ depth }) => depth === 0) ?? errors[0];
  return `${pythonRepr(value)} is not valid under any of the given schemas. Possible root cause: ${cause?.text}`;
}

function errorsOf(value: JsonObject, { fields, networkTypes, required }: LinkSchema): readonly SchemaError[] {
  const ofMembers = fields.flatMap((name) => {
    const member = value[name];
    const messages =
      member === undefined
        ? []
        : [
            ...(typeof member === "string" ? [] : [`${pythonRepr(member)} is not of type 'string'`]),
            ...(name !== "network_type" || networkTypes.includes(String(member))
              ? []
              : [`${pythonRepr(member)} is not one of ${pythonRepr(networkTypes)}`]),
          ];
    return messages.map((text) => ({ depth: 1 as const, text }));
  });
  const unknown = Object.keys(value).filter((name) => !fields.includes(name));
  const ofObject = [
    ...(unknown.length === 0 ? [] : [unexpectedProperties(unknown.toSorted())]),
    ...required.filter((name) => value[name] === undefined).map((name) => `'${name}' is a required property`),
  ];
  return [...ofMembers, ...ofObject.map((text) => ({ depth: 0 as const, text }))];
}
