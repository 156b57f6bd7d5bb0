import { POWER_STATES, type PowerState } from "../../src/virt/index.js";
import type { IronicNode } from "./client/ironic-node.js";

type State = Pick<IronicNode, "maintenance" | "powerState" | "provisionState" | "instanceUuid">;

/** An instance has claimed the node. */
export const isUsed = ({ instanceUuid }: Pick<State, "instanceUuid">): boolean => instanceUuid !== null;

/** Nothing can be built on the node now; null as a provision state is what old API versions called available. */
export function isBad({ maintenance, powerState, provisionState }: Omit<State, "instanceUuid">): boolean {
  return maintenance || powerState === null || powerState === "error" || !isAvailable(provisionState);
}

export function isAvailable(provisionState: string | null): boolean {
  return provisionState === null || provisionState === "available";
}

/** States in which nothing of the instance is on the node, so that only the claim is to be undone. */
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

/** Whether the instance has to be torn down; also in states that this driver does not know. */
export const needsTearDown = (provisionState: string | null): boolean => !NOTHING_DEPLOYED.has(provisionState);

/** The tear-down is over, although the node may still be cleaned. */
export function isTornDown(provisionState: string | null): boolean {
  return isAvailable(provisionState) || ["cleaning", "clean wait", "clean failed"].includes(provisionState ?? "");
}

export function powerStateOf({ powerState }: Pick<State, "powerState">): PowerState {
  if (powerState === "power on") {
    return POWER_STATES.running;
  }
  return powerState === "power off" ? POWER_STATES.shutdown : POWER_STATES.nostate;
}

/** For messages. */
export function describeNode({ maintenance, powerState, provisionState, instanceUuid }: State): string {
  return (
    `provision state ${provisionState}, power state ${powerState}${maintenance ? ", in maintenance" : ""}, ` +
    `${instanceUuid === null ? "no instance" : `instance ${instanceUuid}`}`
  );
}
