import type { JsonObject } from "./json-object.js";

/** A node as the API names its fields; times are ISO 8601 in whole seconds. Never changed in place. */
export interface IronicNode {
  /** Order of enrolment. */
  readonly id: number;
  readonly uuid: string;
  readonly created_at: string;
  readonly updated_at: string | null;
  readonly automated_clean: boolean | null;
  readonly bios_interface: string;
  readonly boot_interface: string;
  readonly boot_mode: string | null;
  readonly clean_step: JsonObject;
  readonly conductor_group: string;
  readonly console_enabled: boolean;
  readonly console_interface: string;
  readonly deploy_interface: string;
  readonly deploy_step: JsonObject;
  readonly description: string | null;
  readonly driver: string;
  readonly driver_info: JsonObject;
  readonly driver_internal_info: JsonObject;
  readonly extra: JsonObject;
  readonly fault: string | null;
  readonly inspection_finished_at: string | null;
  readonly inspection_started_at: string | null;
  readonly inspect_interface: string;
  readonly instance_info: JsonObject;
  readonly instance_uuid: string | null;
  readonly last_error: string | null;
  readonly lessee: string | null;
  readonly maintenance: boolean;
  readonly maintenance_reason: string | null;
  readonly management_interface: string;
  readonly name: string | null;
  readonly network_data: JsonObject;
  readonly network_interface: string;
  readonly owner: string | null;
  readonly power_interface: string;
  readonly power_state: string | null;
  readonly properties: JsonObject;
  readonly protected: boolean;
  readonly protected_reason: string | null;
  readonly provision_state: string;
  readonly provision_updated_at: string | null;
  readonly raid_config: JsonObject;
  readonly raid_interface: string;
  readonly rescue_interface: string;
  readonly resource_class: string | null;
  readonly retired: boolean;
  readonly retired_reason: string | null;
  readonly secure_boot: boolean | null;
  readonly shard: string | null;
  readonly storage_interface: string;
  readonly target_power_state: string | null;
  readonly target_provision_state: string | null;
  readonly target_raid_config: JsonObject;
  readonly traits: readonly string[];
  readonly vendor_interface: string;
  /** When the hardware is through with what it does; milliseconds since the epoch, null: it does nothing. Not shown. */
  readonly work_due: number | null;
}

/** What may be said of a new node; the rest is as Ironic begins. */
export type NewNode = Pick<IronicNode, "uuid"> & Partial<Omit<IronicNode, "id" | "created_at" | "updated_at">>;

export type NodeChanges = Partial<Omit<IronicNode, "id" | "uuid" | "created_at" | "updated_at">>;

export function newNode(attributes: NewNode, id: number, now: string): IronicNode {
  return {
    automated_clean: null,
    bios_interface: "fake",
    boot_interface: "fake",
    boot_mode: null,
    clean_step: {},
    conductor_group: "",
    console_enabled: false,
    console_interface: "fake",
    deploy_interface: "fake",
    deploy_step: {},
    description: null,
    driver: "fake-hardware",
    driver_info: {},
    driver_internal_info: {},
    extra: {},
    fault: null,
    inspection_finished_at: null,
    inspection_started_at: null,
    inspect_interface: "fake",
    instance_info: {},
    instance_uuid: null,
    last_error: null,
    lessee: null,
    maintenance: false,
    maintenance_reason: null,
    management_interface: "fake",
    name: null,
    network_data: {},
    network_interface: "flat",
    owner: null,
    power_interface: "fake",
    power_state: null,
    properties: {},
    protected: false,
    protected_reason: null,
    provision_state: "enroll",
    provision_updated_at: null,
    raid_config: {},
    raid_interface: "fake",
    rescue_interface: "fake",
    resource_class: null,
    retired: false,
    retired_reason: null,
    secure_boot: null,
    shard: null,
    storage_interface: "noop",
    target_power_state: null,
    target_provision_state: null,
    target_raid_config: {},
    traits: [],
    vendor_interface: "no-vendor",
    work_due: null,
    ...attributes,
    id,
    created_at: now,
    updated_at: null,
  };
}

/** `2026-11-21T12:01:03+00:00` */
export const isoTime = (milliseconds: number): string => `${new Date(milliseconds).toISOString().slice(0, 19)}+00:00`;
