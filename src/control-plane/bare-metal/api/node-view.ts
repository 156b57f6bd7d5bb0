import { isObject } from "../../../runtime/collections.js";
import { badRequest } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { notAcceptable } from "../ironic-error.js";
import { CONDUCTOR_HOST, type IronicNode, type JsonObject, NODE_FIELDS, type NodeLocks } from "../node-store.js";
import { type IronicCall, links } from "./call.js";

/** Fields that are computed per response and not stored with the node. */
const DERIVED = { reservation: 1, conductor: 49, allocation_uuid: 52, chassis_uuid: 1 } as const;

export const DEFAULT_FIELDS: readonly string[] = [
  "uuid",
  "instance_uuid",
  "maintenance",
  "power_state",
  "provision_state",
  "name",
];

/** Links to resources of a node, only in complete views. */
const PARTS = { ports: 1, states: 14, portgroups: 24, volume: 32 } as const;

const FIRST_MINORS: ReadonlyMap<string, number> = new Map([
  ...["uuid", "created_at", "updated_at"].map((name) => [name, 1] as const),
  ...Object.entries(NODE_FIELDS).map(([name, { from }]) => [name, from] as const),
  ...Object.entries(DERIVED),
]);

/** Returns undefined for an unknown field. */
export const firstMinorOf = (field: string): number | undefined => FIRST_MINORS.get(field);

/** @throws {HttpError} 406 if a field is newer than the request's version, 400 if it is unknown */
export function checkFields(fields: readonly string[], minor: number): void {
  if (minor < 8) {
    throw notAcceptable();
  }
  for (const field of fields) {
    if (minor < (firstMinorOf(field) ?? 1)) {
      throw notAcceptable();
    }
  }
  const unknown = fields.find(
    (field) => firstMinorOf(field) === undefined || field === "created_at" || field === "updated_at",
  );
  if (unknown !== undefined) {
    throw badRequest(`Field ${unknown} is not a valid field.`);
  }
}

/** Creates a renderer of nodes for one response. @param fields requested fields; undefined for all of the version */
export function nodeView(
  { root, minor, locks }: IronicCall,
  fields?: readonly string[],
): (node: IronicNode) => Readonly<Record<string, unknown>> {
  const visibleFields = (fields ?? [...FIRST_MINORS.keys()]).filter((field) => minor >= (firstMinorOf(field) ?? 1));
  const parts = fields ? [] : Object.entries(PARTS).filter(([, from]) => minor >= from);
  return (node) => {
    const view: Record<string, unknown> = {};
    for (const field of visibleFields) {
      view[field] = renderValue(node, field, minor, locks);
    }
    view.links = links(root, `nodes/${node.uuid}`);
    for (const [part] of parts) {
      view[part] = links(root, `nodes/${node.uuid}/${part}`);
    }
    return view;
  };
}

function renderValue(node: IronicNode, field: string, minor: number, locks: NodeLocks): unknown {
  switch (field) {
    case "reservation":
      return locks.holder(node.uuid);
    case "provision_state":
      return renderState(node, minor);
    case "instance_info":
    case "driver_info":
      return masked(node[field]);
    case "conductor":
      return CONDUCTOR_HOST;
    case "allocation_uuid":
    case "chassis_uuid":
      return null;
    default:
      return node[field as keyof IronicNode];
  }
}

/** Before 1.2, `available` is null; before 1.39, `inspect wait` has another name. */
function renderState({ provision_state: state }: IronicNode, minor: number): string | null {
  if (minor < 2 && state === "available") {
    return null;
  }
  return minor < 39 && state === "inspect wait" ? "inspecting" : state;
}

const SECRET = /password|secret|token|configdrive|image_url/i;
const MASK = "******";

function masked(info: JsonObject): JsonObject {
  const keys = Object.keys(info);
  if (!keys.some((key) => SECRET.test(key) || isObject(info[key]))) {
    return info;
  }
  return Object.fromEntries(
    keys.map((key): [string, Json] => {
      const value = info[key] ?? null;
      if (SECRET.test(key) && typeof value === "string") {
        return [key, MASK];
      }
      return [key, isObject(value) ? masked(value as JsonObject) : value];
    }),
  );
}

/** Renders the body of GET states. */
export function statesView(node: IronicNode, minor: number): Readonly<Record<string, unknown>> {
  return {
    console_enabled: node.console_enabled,
    last_error: node.last_error,
    power_state: node.power_state,
    provision_state: renderState(node, minor),
    target_power_state: node.target_power_state,
    target_provision_state: node.target_provision_state,
    provision_updated_at: node.provision_updated_at,
    ...(minor >= 12 ? { raid_config: node.raid_config, target_raid_config: node.target_raid_config } : {}),
    ...(minor >= 75 ? { boot_mode: node.boot_mode, secure_boot: node.secure_boot } : {}),
  };
}
