import { isObject } from "../../../runtime/collections.js";
import { HttpError } from "../../http/http-error.js";
import type { Json } from "../../http/json.js";
import { notAcceptable } from "../ironic-error.js";
import { CONDUCTOR_HOST, type IronicNode, type JsonObject } from "../node-store.js";
import { links } from "./call.js";

/** The first minor version of each field. */
const FIELDS = {
  uuid: 1,
  created_at: 1,
  updated_at: 1,
  automated_clean: 47,
  bios_interface: 40,
  boot_interface: 31,
  boot_mode: 75,
  clean_step: 7,
  conductor_group: 46,
  console_enabled: 1,
  console_interface: 31,
  deploy_interface: 31,
  deploy_step: 44,
  description: 51,
  driver: 1,
  driver_info: 1,
  driver_internal_info: 3,
  extra: 1,
  fault: 42,
  inspection_finished_at: 6,
  inspection_started_at: 6,
  inspect_interface: 31,
  instance_info: 1,
  instance_uuid: 1,
  last_error: 1,
  lessee: 65,
  maintenance: 1,
  maintenance_reason: 1,
  management_interface: 31,
  name: 5,
  network_data: 66,
  network_interface: 20,
  owner: 50,
  power_interface: 31,
  power_state: 1,
  properties: 1,
  protected: 48,
  protected_reason: 48,
  provision_state: 1,
  provision_updated_at: 1,
  raid_config: 12,
  raid_interface: 31,
  rescue_interface: 38,
  reservation: 1,
  resource_class: 21,
  retired: 61,
  retired_reason: 61,
  secure_boot: 75,
  shard: 82,
  storage_interface: 33,
  target_power_state: 1,
  target_provision_state: 1,
  target_raid_config: 12,
  traits: 37,
  vendor_interface: 31,
} as const;

/** Fields that are computed per response and not stored with the node. */
const DERIVED = { conductor: 49, allocation_uuid: 52, chassis_uuid: 1 } as const;

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

const FIRST_MINORS: ReadonlyMap<string, number> = new Map(Object.entries({ ...FIELDS, ...DERIVED }));

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
    throw new HttpError(400, `Field ${unknown} is not a valid field.`);
  }
}

export interface ViewContext {
  readonly root: string;
  readonly minor: number;
  /** See `NodeLocks.holder`. */
  readonly reservation: (uuid: string) => string | null;
}

/** Creates a renderer of nodes for one response. @param fields requested fields; undefined for all of the version */
export function nodeView(
  { root, minor, reservation }: ViewContext,
  fields?: readonly string[],
): (node: IronicNode) => Readonly<Record<string, unknown>> {
  const visibleFields = (fields ?? [...FIRST_MINORS.keys()]).filter((field) => minor >= (firstMinorOf(field) ?? 1));
  const parts = fields ? [] : Object.entries(PARTS).filter(([, from]) => minor >= from);
  return (node) => {
    const view: Record<string, unknown> = {};
    for (const field of visibleFields) {
      view[field] = renderValue(node, field, minor, reservation);
    }
    view.links = links(root, `nodes/${node.uuid}`);
    for (const [part] of parts) {
      view[part] = links(root, `nodes/${node.uuid}/${part}`);
    }
    return view;
  };
}

function renderValue(node: IronicNode, field: string, minor: number, reservation: ViewContext["reservation"]): unknown {
  switch (field) {
    case "reservation":
      return reservation(node.uuid);
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
