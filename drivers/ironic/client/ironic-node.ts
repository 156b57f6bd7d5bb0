import { POWER_STATES, type PowerState } from "../../../src/virt/index.js";
import { IronicError, isRecord } from "./ironic-error.js";

/** The fields that the driver requests. */
export const NODE_FIELDS =
  "uuid,power_state,target_power_state,provision_state,target_provision_state,last_error,maintenance,properties," +
  "instance_uuid,traits,resource_class";

/** The part of a node that the driver uses. Other properties are dropped, so that thousands of nodes fit in memory. */
export interface IronicNode {
  readonly uuid: string;
  readonly powerState: string | null;
  readonly targetPowerState: string | null;
  readonly provisionState: string | null;
  readonly targetProvisionState: string | null;
  readonly lastError: string | null;
  readonly maintenance: boolean;
  readonly instanceUuid: string | null;
  readonly resourceClass: string | null;
  readonly traits: readonly string[];
  readonly properties: NodeProperties;
}

interface NodeProperties {
  readonly cpuArch: string | null;
  /** GB; a number or a string in Ironic's response. */
  readonly localGb: string | null;
  /** `key:value,key:value`; an object in old releases. */
  readonly capabilities: string | null;
}

/** @throws {IronicError} `malformed` */
export function readNode(value: unknown, where: string): IronicNode {
  if (!isRecord(value)) {
    throw malformed(where, "expected a node");
  }
  const { uuid, maintenance, traits } = value;
  if (typeof uuid !== "string" || uuid === "") {
    throw malformed(where, "a node has no uuid");
  }
  if (typeof maintenance !== "boolean") {
    throw malformed(where, `node ${uuid} has no maintenance flag`);
  }
  for (const field of ["provision_state", "instance_uuid", "power_state"]) {
    if (value[field] === undefined) {
      throw malformed(where, `node ${uuid} has no ${field}`);
    }
  }
  return {
    uuid,
    maintenance,
    powerState: text(value.power_state),
    targetPowerState: text(value.target_power_state),
    provisionState: text(value.provision_state),
    targetProvisionState: text(value.target_provision_state),
    lastError: text(value.last_error),
    instanceUuid: text(value.instance_uuid),
    resourceClass: text(value.resource_class),
    traits: Array.isArray(traits) ? traits.filter((trait) => typeof trait === "string") : [],
    properties: readProperties(value.properties),
  };
}

function readProperties(value: unknown): NodeProperties {
  const properties = isRecord(value) ? value : {};
  const { capabilities } = properties;
  return {
    cpuArch: text(properties.cpu_arch),
    localGb: typeof properties.local_gb === "number" ? String(properties.local_gb) : text(properties.local_gb),
    capabilities: isRecord(capabilities)
      ? Object.entries(capabilities)
          .map(([key, item]) => `${key}:${String(item)}`)
          .join(",")
      : text(capabilities),
  };
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : null);

export function malformed(where: string, what: string): IronicError {
  return new IronicError("malformed", 200, `Ironic's response to ${where} is invalid: ${what}`);
}

type State = Pick<IronicNode, "maintenance" | "powerState" | "provisionState" | "instanceUuid">;

/** Returns whether an instance has claimed the node. */
export const isUsed = ({ instanceUuid }: Pick<State, "instanceUuid">): boolean => instanceUuid !== null;

/**
 * Returns whether nothing can be built on the node now. Old API versions report the provision state `available` as
 * null.
 */
export function isBad({ maintenance, powerState, provisionState }: Omit<State, "instanceUuid">): boolean {
  return maintenance || powerState === null || powerState === "error" || !isAvailable(provisionState);
}

export function isAvailable(provisionState: string | null): boolean {
  return provisionState === null || provisionState === "available";
}

/** States in which nothing of the instance is on the node, so that only the claim must be undone. */
const NOTHING_DEPLOYED: ReadonlySet<string | null> = new Set([
  null,
  "available",
  "enroll",
  "verifying",
  "manageable",
  "inspecting",
  "inspect wait",
  "inspect failed",
  "adopting",
  "adopt failed",
  "cleaning",
  "clean wait",
  "clean hold",
  "clean failed",
]);

/** Returns whether the instance must be torn down; true for unknown states. */
export const needsTearDown = (provisionState: string | null): boolean => !NOTHING_DEPLOYED.has(provisionState);

/** Returns whether the tear-down is complete. The node may still be cleaned. */
export function isTornDown(provisionState: string | null): boolean {
  return isAvailable(provisionState) || ["cleaning", "clean wait", "clean failed"].includes(provisionState ?? "");
}

export function powerStateOf({ powerState }: Pick<State, "powerState">): PowerState {
  if (powerState === "power on") {
    return POWER_STATES.running;
  }
  return powerState === "power off" ? POWER_STATES.shutdown : POWER_STATES.nostate;
}

/** Describes the node for messages. */
export function describeNode({ maintenance, powerState, provisionState, instanceUuid }: State): string {
  return (
    `provision state ${provisionState}, power state ${powerState}${maintenance ? ", in maintenance" : ""}, ` +
    `${instanceUuid === null ? "no instance" : `instance ${instanceUuid}`}`
  );
}
