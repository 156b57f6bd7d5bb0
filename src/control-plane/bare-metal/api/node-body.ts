import { isObject } from "../../../runtime/collections.js";
import { badRequest, type HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { pythonRepr } from "../../python/repr.js";
import { notAcceptable } from "../ironic-error.js";
import type { IronicNode, NodeChanges } from "../node-store.js";
import { booleanArgument, uuidArgument } from "./call.js";
import { firstMinorOf } from "./node-view.js";

type Kind = "text" | "object" | "boolean" | "nullable-boolean" | "uuid" | "driver" | "group" | "interface";

const INTERFACES = "bios boot console deploy inspect management network power raid rescue storage vendor"
  .split(" ")
  .map((name) => `${name}_interface`);

/** Fields that a client can set, at creation and later. */
const SETTABLE: Readonly<Record<string, Kind>> = {
  automated_clean: "nullable-boolean",
  chassis_uuid: "uuid",
  conductor_group: "group",
  description: "text",
  driver: "driver",
  driver_info: "object",
  extra: "object",
  instance_info: "object",
  instance_uuid: "uuid",
  lessee: "text",
  maintenance: "boolean",
  name: "text",
  network_data: "object",
  owner: "text",
  properties: "object",
  resource_class: "text",
  retired: "boolean",
  retired_reason: "text",
  shard: "text",
  ...Object.fromEntries(INTERFACES.map((name): [string, Kind] => [name, "interface"])),
};

const PATCHABLE: Readonly<Record<string, Kind>> = { ...SETTABLE, protected: "boolean", protected_reason: "text" };

export const patchableFields = (): readonly string[] => Object.keys(PATCHABLE).sort();

/** Reads the body of POST /nodes. @throws {HttpError} 400, 406 */
export function readNewNode(body: unknown, minor: number): NodeChanges & { readonly uuid?: string } {
  const wrong = (text: string) => badRequest(`Schema error for node: ${text}`);
  if (!isObject(body)) {
    throw wrong(`${pythonRepr(body)} is not of type 'object'`);
  }
  if (body.driver === undefined) {
    throw wrong("'driver' is a required property");
  }
  const unknown = Object.keys(body).find((name) => !Object.hasOwn(SETTABLE, name) && name !== "uuid");
  if (unknown !== undefined) {
    throw wrong(`Additional properties are not allowed ('${unknown}' was unexpected)`);
  }
  const { uuid, ...rest } = body;
  for (const [name, value] of Object.entries(rest)) {
    if (value !== null && value !== "" && minor < (firstMinorOf(name) ?? 1)) {
      throw notAcceptable();
    }
  }
  return {
    ...valuesOf(rest, SETTABLE, "node"),
    ...(uuid === undefined || uuid === null ? {} : { uuid: uuidArgument("uuid", uuid) }),
  };
}

/** Returns the fields of a patched document that differ from the node. @throws {HttpError} 400 */
export function changesOf(node: IronicNode, document: Readonly<Record<string, Json>>): NodeChanges {
  if (document.driver === undefined) {
    throw badRequest("Schema error for patch: 'driver' is a required property");
  }
  const fields = Object.fromEntries(Object.keys(PATCHABLE).map((name) => [name, document[name] ?? null]));
  const values = Object.entries(valuesOf(fields, PATCHABLE, "patch"));
  return Object.fromEntries(
    values.filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(node[name as keyof IronicNode])),
  );
}

/** Returns the node as a document to patch. */
export function documentOf(node: IronicNode): Readonly<Record<string, Json>> {
  return Object.fromEntries(
    Object.keys(PATCHABLE).map((name) => [name, (node[name as keyof IronicNode] as Json | undefined) ?? null]),
  );
}

function valuesOf(
  fields: Readonly<Record<string, unknown>>,
  kinds: Readonly<Record<string, Kind>>,
  what: string,
): NodeChanges {
  return Object.fromEntries(
    Object.entries(fields)
      // Removing an interface resets it to the default, which it already is.
      .filter(([name, value]) => name !== "chassis_uuid" && !(kinds[name] === "interface" && value === null))
      .map(([name, value]) => [name, readValue(name, value, kinds[name] ?? "text", what)]),
  );
}

function readValue(name: string, value: unknown, kind: Kind, what: string): Json {
  switch (kind) {
    case "object":
      if (value === null) {
        return {};
      }
      if (!isObject(value)) {
        throw typeError(value, ["object", "null"], what);
      }
      return value as Json;
    case "boolean":
      return value === null ? false : booleanArgument(name, value);
    case "nullable-boolean":
      return value === null ? null : booleanArgument(name, value);
    case "uuid":
      return value === null ? null : uuidArgument(name, value);
    case "driver":
      if (typeof value !== "string") {
        throw typeError(value, ["string"], what);
      }
      return value;
    case "group":
      return (text(value, what) ?? "").toLowerCase();
    case "interface":
    case "text":
      return text(value, what);
  }
}

function text(value: unknown, what: string): string | null {
  if (value !== null && typeof value !== "string") {
    throw typeError(value, ["string", "null"], what);
  }
  return value;
}

function typeError(value: unknown, types: readonly string[], what: string): HttpError {
  return badRequest(
    `Schema error for ${what}: ${pythonRepr(value)} is not of type ${types.map((type) => `'${type}'`).join(", ")}`,
  );
}
