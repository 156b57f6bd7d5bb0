import { type FaultPoint, faultTable } from "../../faults/faults.js";

/** Ironic's state machine (ironic/common/states.py of 21.4), without the states that wait for a ramdisk to call back. */

/** State → event → next state. */
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
  // A retired node ends manageable: nobody deploys it.
  cleaning: { done: "available", retire: "manageable", fail: "clean failed" },
  "clean failed": { manage: "manageable" },
  rescuing: { done: "rescue", fail: "rescue failed" },
  rescue: { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
  "rescue failed": { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
  unrescuing: { done: "active", fail: "unrescue failed" },
  "unrescue failed": { rescue: "rescuing", unrescue: "unrescuing", delete: "deleting" },
};

/** The states that a filter may name, too. */
const WAITING = ["wait call-back", "clean wait", "inspect wait", "rescue wait"];

export const PROVISION_STATES: ReadonlySet<string> = new Set([...Object.keys(TRANSITIONS), ...WAITING]);

/** What a client puts as `target` → the event; others are named alike. */
const VERBS: ReadonlyMap<string, string> = new Map([
  ["active", "deploy"],
  ["deploy", "deploy"],
  ["deleted", "delete"],
  ["undeploy", "delete"],
]);

export const eventOf = (target: string): string => VERBS.get(target) ?? target;

/** Undefined: the event means nothing in this state. */
export function nextState(state: string, event: string): string | undefined {
  const events = TRANSITIONS[state] ?? {};
  return Object.hasOwn(events, event) ? events[event] : undefined;
}

/** Events that a client may cause; the others are the hardware's. */
export const CLIENT_EVENTS: ReadonlySet<string> = new Set(
  "deploy delete rebuild manage provide inspect adopt rescue unrescue".split(" "),
);

/** What hardware does, and how long a fault can be set for. */
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

/** States that end by themselves. */
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

/** After a failure the target stays; only these have none. */
export function hasNoTarget(state: string): boolean {
  return ["enroll", "manageable", "available", "active", "error", "rescue"].includes(state);
}

/** States in transition in which a node can be changed all the same. */
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

/** In these resource class and interfaces may change. */
export const RECLASS_ALLOWED = ["enroll", "inspecting", "inspect wait", "manageable", "available"];

export const DELETE_ALLOWED = ["manageable", "enroll", "adopt failed", "available"];

/** What hardware does takes so long, in milliseconds. */
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

/** Where the embedded Ironic can be made to fail: in what hardware does, and in what the API answers. */
export const IRONIC_FAULTS = faultTable([
  ...(Object.keys(DEFAULT_DELAYS) as HardwareWork[]).map(
    (work): FaultPoint => ({ point: hardwarePoint(work), kinds: ["fail", "hang", "slow"] }),
  ),
  { point: hardwarePoint("validate"), kinds: ["fail"] },
  ...["api", ...API_METHODS.map((method) => `api.${method}`)].map(
    (point): FaultPoint => ({ point, kinds: ["status", "lose-answer", "slow", "hang"] }),
  ),
]);
