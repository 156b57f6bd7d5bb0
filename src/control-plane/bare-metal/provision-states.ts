import { type FaultPoint, faultTable } from "../../faults/faults.js";

/** Ironic's state machine (ironic/common/states.py of 21.4), without the states that wait for a ramdisk's callback. */

/** Next states by state and event. */
const TRANSITIONS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  enroll: { manage: "verifying" },
  verifying: { done: "manageable", fail: "enroll" },
  manageable: { provide: "cleaning", inspect: "inspecting", adopt: "adopting" },
  inspecting: { done: "manageable", fail: "inspect failed" },
  "inspect failed": { manage: "manageable", inspect: "inspecting" },
  adopting: { done: "active", fail: "adopt failed" },
  "adopt failed": { adopt: "adopting", manage: "manageable" },
  available: { deploy: "deploying", manage: "manageable" },
  deploying: { done: "active", fail: "deploy failed" },
  "deploy failed": { rebuild: "deploying", deploy: "deploying", delete: "deleting" },
  active: { rebuild: "deploying", delete: "deleting", rescue: "rescuing" },
  deleting: { clean: "cleaning", fail: "error" },
  error: { rebuild: "deploying", delete: "deleting" },
  // A retired node becomes manageable instead of available, so that it is not deployed.
  cleaning: { done: "available", retire: "manageable", fail: "clean failed" },
  "clean failed": { manage: "manageable" },
  rescuing: { done: "rescue", fail: "rescue failed" },
  rescue: { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
  "rescue failed": { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
  unrescuing: { done: "active", fail: "unrescue failed" },
  "unrescue failed": { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
};

/** Further states that a filter can name. */
const WAITING = ["wait call-back", "clean wait", "inspect wait", "rescue wait"];

export const PROVISION_STATES: ReadonlySet<string> = new Set([...Object.keys(TRANSITIONS), ...WAITING]);

/** Events by the client's `target`, where the names differ. */
const VERBS: ReadonlyMap<string, string> = new Map([
  ["active", "deploy"],
  ["deploy", "deploy"],
  ["deleted", "delete"],
  ["undeploy", "delete"],
]);

export const eventOf = (target: string): string => VERBS.get(target) ?? target;

/** Returns undefined if the state does not permit the event. */
export function nextState(state: string, event: string): string | undefined {
  const events = TRANSITIONS[state] ?? {};
  return Object.hasOwn(events, event) ? events[event] : undefined;
}

/** Events that a client can trigger; the others are triggered by hardware. */
export const CLIENT_EVENTS: ReadonlySet<string> = new Set(
  "deploy delete rebuild manage provide inspect adopt rescue unrescue".split(" "),
);

/** Hardware operations; each is a fault point. */
export type HardwareWork =
  | "verify"
  | "inspect"
  | "adopt"
  | "deploy"
  | "tear-down"
  | "clean"
  | "rescue"
  | "unrescue"
  | "power";

/** States that end by themselves, with their hardware operation. */
export const WORK_OF_STATE: Readonly<
  Record<string, { readonly work: HardwareWork; readonly target: string; readonly ends: "done" | "clean" }>
> = {
  verifying: { work: "verify", target: "manageable", ends: "done" },
  inspecting: { work: "inspect", target: "manageable", ends: "done" },
  adopting: { work: "adopt", target: "active", ends: "done" },
  deploying: { work: "deploy", target: "active", ends: "done" },
  deleting: { work: "tear-down", target: "available", ends: "clean" },
  cleaning: { work: "clean", target: "available", ends: "done" },
  rescuing: { work: "rescue", target: "rescue", ends: "done" },
  unrescuing: { work: "unrescue", target: "active", ends: "done" },
};

/** Returns true for states without a target. After a failure, the target remains. */
export function hasNoTarget(state: string): boolean {
  return ["enroll", "manageable", "available", "active", "error", "rescue"].includes(state);
}

/** Transitional states in which a node can still be changed. */
export const UPDATE_ALLOWED: ReadonlySet<string> = new Set([
  "deploy failed",
  "inspecting",
  "inspect failed",
  "clean failed",
  "error",
  "verifying",
  "adopt failed",
  "rescue failed",
  "unrescue failed",
]);

/** States in which resource class and interfaces can be changed. */
export const RECLASS_ALLOWED = ["enroll", "inspecting", "inspect wait", "manageable", "available"];

export const DELETE_ALLOWED = ["manageable", "enroll", "adopt failed", "available"];

/** Milliseconds of each hardware operation. */
export type HardwareDelays = Readonly<Record<HardwareWork, number>>;

export const DEFAULT_DELAYS: HardwareDelays = {
  verify: 500,
  inspect: 1_000,
  adopt: 1_000,
  deploy: 4_000,
  "tear-down": 2_000,
  clean: 4_000,
  rescue: 2_000,
  unrescue: 2_000,
  power: 1_000,
};

export const hardwarePoint = (work: HardwareWork | "validate"): string => `hardware.${work}`;

const API_METHODS = ["get", "post", "put", "patch", "delete"];

/** Fault points of the embedded Ironic: hardware operations and API responses. */
export const IRONIC_FAULTS = faultTable([
  ...(Object.keys(DEFAULT_DELAYS) as HardwareWork[]).map(
    (work): FaultPoint => ({ point: hardwarePoint(work), kinds: ["fail", "hang", "slow"] }),
  ),
  { point: hardwarePoint("validate"), kinds: ["fail"] },
  ...["api", ...API_METHODS.map((method) => `api.${method}`)].map(
    (point): FaultPoint => ({ point, kinds: ["status", "lose-answer", "slow", "hang"] }),
  ),
]);
