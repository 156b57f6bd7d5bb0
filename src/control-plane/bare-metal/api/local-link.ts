import { pythonRepr } from "../../python/repr.js";
import { IronicError } from "../ironic-error.js";
import type { JsonObject } from "../json-object.js";
import { additionalProperties, isMac } from "./arguments.js";

const FIELDS = ["port_id", "switch_id", "hostname", "switch_info", "network_type"];
const NAME = "local_link_connection";

interface LinkSchema {
  readonly fields: readonly string[];
  readonly networkTypes: readonly string[];
  readonly required: readonly string[];
}

const SMART_NIC: LinkSchema = {
  fields: FIELDS,
  networkTypes: ["managed", "unmanaged"],
  required: ["port_id", "hostname"],
};

/** The four schemas of which a connection has to match one; the last is an empty object. */
const SCHEMAS: readonly LinkSchema[] = [
  { ...SMART_NIC, required: ["port_id", "switch_id"] },
  SMART_NIC,
  { fields: FIELDS, networkTypes: ["unmanaged"], required: ["network_type"] },
  { fields: [], networkTypes: [], required: [] },
];

interface SchemaError {
  /** 0: of the object itself; 1: of a member. */
  readonly depth: 0 | 1;
  readonly text: string;
}

/** Checks how a port is connected to a switch, and normalizes the switch's id. @throws {IronicError} 400 */
export function checkLocalLink(value: JsonObject): JsonObject {
  const errors = SCHEMAS.map((schema) => errorsOf(value, schema));
  if (errors.every(({ length }) => length > 0)) {
    throw new IronicError(400, `Schema error for ${NAME}: ${describe(value, errors.flat())}`);
  }
  const { switch_id: id } = value;
  if (typeof id !== "string") {
    return value;
  }
  if (!isMac(id) && !/^[0-9a-f]{16}$/i.test(id)) {
    throw new IronicError(400, `Expected a MAC address or OpenFlow datapath ID but received ${id}.`);
  }
  return { ...value, switch_id: id.toLowerCase() };
}

export function isSmartNicLink(value: JsonObject): boolean {
  return errorsOf(value, SMART_NIC).length === 0;
}

/** Picks the error that Python's jsonschema reports: the only one that lies deepest, otherwise the first of the object. */
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
    ...(unknown.length === 0 ? [] : [additionalProperties(unknown)]),
    ...required.filter((name) => value[name] === undefined).map((name) => `'${name}' is a required property`),
  ];
  return [...ofMembers, ...ofObject.map((text) => ({ depth: 0 as const, text }))];
}
