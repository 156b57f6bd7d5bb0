import { POWER_STATES, type PowerState } from "../../src/virt/index.js";

/** What a guest does now. `suspended`: its memory is in a file. `arriving`: it is on its way here. */
export type GuestState = "running" | "paused" | "suspended" | "shutoff" | "crashed" | "arriving";

/** QEMU's words; those that are left out mean that the guest is paused for a moment. */
const STATES: Readonly<Record<string, GuestState>> = {
  running: "running",
  suspended: "running",
  inmigrate: "arriving",
  prelaunch: "shutoff",
  shutdown: "shutoff",
  // It has gone to another host.
  postmigrate: "shutoff",
  "guest-panicked": "crashed",
  "internal-error": "crashed",
};

export function stateOf(status: unknown): GuestState {
  const word = typeof status === "object" && status !== null && "status" in status ? status.status : undefined;
  return STATES[String(word)] ?? "paused";
}

export function powerStateOf(state: GuestState): PowerState {
  if (state === "shutoff") {
    return POWER_STATES.shutdown;
  }
  // As libvirt has it.
  return state === "arriving" ? POWER_STATES.paused : POWER_STATES[state];
}
