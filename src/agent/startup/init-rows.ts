import {
  type Instance,
  type InstanceChanges,
  POWER_STATES,
  type PowerState,
  REBUILD_TASK_STATES,
  type TaskState,
} from "../../records/index.js";
import type { InstanceMethod } from "../operations/flow/contract.js";
import { mayBeSetAside } from "../operations/flow/other-moves.js";
import type { MOVE_RECOVERIES } from "./plan-move-recovery.js";

/** The inputs of a row. */
export interface InitInputs {
  readonly host: string;
  /** As changed by the rows before. */
  readonly instance: Instance;
  /** As reported by the driver; `nostate` for an absent guest. */
  readonly power: PowerState;
  /** `resume_guests_state_on_host_boot` */
  readonly resumeGuests: boolean;
  /** True if the driver has ports to plug. */
  readonly plugsVifs: boolean;
}

/** The action on an instance that was in the middle of an operation. */
export type InitAction =
  | { readonly kind: "leave"; readonly why?: string }
  | { readonly kind: "save"; readonly changes: InstanceChanges }
  | { readonly kind: "fail-build"; readonly changes: InstanceChanges }
  | { readonly kind: "complete-partial-deletion" }
  | { readonly kind: "terminate" }
  | { readonly kind: "reboot"; readonly type: "SOFT" | "HARD"; readonly pendingHard: boolean }
  | { readonly kind: "unpause" | "stop" | "start" | "resume-on-host-boot" | "offload" }
  | { readonly kind: "plug-vifs" }
  | { readonly kind: "change-state"; readonly change: StateChangeName }
  | { readonly kind: "take-guest-back" | keyof typeof MOVE_RECOVERIES };

/** One row of spec 2.6. */
interface InitRow {
  readonly row: string;
  readonly when: (inputs: InitInputs) => boolean;
  readonly act: (inputs: InitInputs) => InitAction;
  /** Whether the following rows are evaluated. */
  readonly next: "stop" | "continue";
}

const BUILD_TASKS: readonly TaskState[] = ["scheduling", "block_device_mapping", "networking", "spawning"];
const SNAPSHOT_TASKS: readonly TaskState[] = [
  "image_snapshot_pending",
  "image_pending_upload",
  "image_uploading",
  "image_snapshot",
];
const SOFT_REBOOT_TASKS: readonly TaskState[] = ["rebooting", "reboot_pending", "reboot_started"];
const STARTED_REBOOT_TASKS: readonly TaskState[] = [
  "rebooting",
  "rebooting_hard",
  "reboot_started",
  "reboot_started_hard",
];
const HARD_REBOOT_STATES = ["active", "stopped", "paused", "suspended", "error"];

const SHELVE_TASKS: readonly TaskState[] = ["shelving", "shelving_image_pending_upload", "shelving_image_uploading"];

/** Tasks that are recovered although the server is in error; upstream recovers only the first two (spec V31). */
const TASKS_IN_ERROR: readonly TaskState[] = [
  "resize_migrating",
  "deleting",
  "soft-deleting",
  "powering-off",
  "rescuing",
  ...REBUILD_TASK_STATES,
  "rebooting_hard",
  "reboot_pending_hard",
  "reboot_started_hard",
];

/** Repeated operations. An interrupted unpause has its own rows. */
export const REPEATED_OPERATIONS = {
  unpause: "unpause_instance",
  stop: "stop_instance",
  start: "start_instance",
  offload: "shelve_offload_instance",
  pause: "pause_instance",
  suspend: "suspend_instance",
  resume: "resume_instance",
  unrescue: "unrescue_instance",
  softDelete: "soft_delete_instance",
  restore: "restore_instance",
} as const satisfies Readonly<Record<string, InstanceMethod>>;

type StateChangeName = Exclude<keyof typeof REPEATED_OPERATIONS, "unpause" | "stop" | "start" | "offload">;

const CHANGES: Readonly<Partial<Record<TaskState, StateChangeName>>> = {
  pausing: "pause",
  suspending: "suspend",
  resuming: "resume",
  unrescuing: "unrescue",
  "soft-deleting": "softDelete",
  restoring: "restore",
};
function changeOf({ taskState }: Instance): StateChangeName | undefined {
  return taskState === null ? undefined : CHANGES[taskState];
}

const ERROR = { vmState: "error", taskState: null } as const;
const toError: InitAction = { kind: "save", changes: ERROR };
const clearTask: InitAction = { kind: "save", changes: { taskState: null } };
function taskIn({ instance }: InitInputs, tasks: readonly TaskState[]): boolean {
  return instance.taskState !== null && tasks.includes(instance.taskState);
}

/** Creates the row of instances in one of these tasks. */
function inTask(row: string, tasks: readonly TaskState[], action: InitAction, next: InitRow["next"]): InitRow {
  return { row, when: (inputs) => taskIn(inputs, tasks), act: () => action, next };
}

function retriesReboot(inputs: InitInputs): boolean {
  const { instance, power } = inputs;
  return (
    (instance.taskState === "reboot_pending" && instance.vmState === "active") ||
    (instance.taskState === "reboot_pending_hard" && HARD_REBOOT_STATES.includes(instance.vmState)) ||
    (taskIn(inputs, STARTED_REBOOT_TASKS) && power !== POWER_STATES.running)
  );
}

function rebootAgain(inputs: InitInputs): InitAction {
  const soft = taskIn(inputs, SOFT_REBOOT_TASKS);
  const type = inputs.power === POWER_STATES.running && soft ? "SOFT" : "HARD";
  return { kind: "reboot", type, pendingHard: soft && type === "HARD" };
}

/** Spec 2.6, from top to bottom. */
const INIT_ROWS: readonly InitRow[] = [
  {
    row: "host is another",
    when: ({ instance, host }) => instance.host !== host,
    act: ({ instance }) => ({ kind: "leave", why: `it belongs to host ${instance.host}` }),
    next: "stop",
  },
  // Upstream has no evacuation that ends a move.
  {
    row: "set aside by a move that an evacuation has ended",
    when: ({ instance }) => mayBeSetAside(instance),
    act: () => ({ kind: "take-guest-back" }),
    next: "continue",
  },
  {
    row: "soft-deleted, or in error",
    when: (inputs) =>
      (inputs.instance.vmState === "soft-delete" && !taskIn(inputs, ["restoring", "deleting"])) ||
      (inputs.instance.vmState === "error" && !taskIn(inputs, TASKS_IN_ERROR)),
    act: () => ({ kind: "leave" }),
    next: "stop",
  },
  {
    row: "partial deletion",
    when: ({ instance }) => instance.vmState === "deleted",
    act: () => ({ kind: "complete-partial-deletion" }),
    next: "stop",
  },
  {
    row: "interrupted build",
    // Upstream also fails a build that is being deleted, and loses the delete.
    when: (inputs) =>
      (inputs.instance.vmState === "building" && !taskIn(inputs, ["deleting"])) || taskIn(inputs, BUILD_TASKS),
    act: ({ instance }) => (instance.vmState === "building" ? { kind: "fail-build", changes: ERROR } : toError),
    next: "stop",
  },
  inTask("interrupted rebuild", REBUILD_TASK_STATES, toError, "stop"),
  inTask("interrupted snapshot", SNAPSHOT_TASKS, clearTask, "continue"),
  inTask("interrupted resize_prep", ["resize_prep"], { kind: "undo-resize-prep" }, "continue"),
  inTask("interrupted delete", ["deleting"], { kind: "terminate" }, "stop"),
  { row: "reboot retry", when: retriesReboot, act: rebootAgain, next: "stop" },
  {
    row: "finished but not recorded",
    when: (inputs) =>
      inputs.power === POWER_STATES.running && taskIn(inputs, [...STARTED_REBOOT_TASKS, "pausing", "unpausing"]),
    act: () => ({ kind: "save", changes: { taskState: null, vmState: "active" } }),
    next: "continue",
  },
  // Upstream leaves an instance whose guest has lost its power in this task forever: here the operation fails, and
  // reports it.
  inTask("unpausing", ["unpausing"], { kind: "unpause" }, "stop"),
  inTask("powering-off", ["powering-off"], { kind: "stop" }, "stop"),
  inTask("powering-on", ["powering-on"], { kind: "start" }, "stop"),
  // Upstream leaves these as they are (spec V31).
  inTask("interrupted shelve", SHELVE_TASKS, clearTask, "continue"),
  inTask("interrupted offload", ["shelving_offloading"], { kind: "offload" }, "stop"),
  {
    row: "interrupted change of state",
    when: ({ instance }) => changeOf(instance) !== undefined,
    act: ({ instance }) => ({ kind: "change-state", change: changeOf(instance) ?? "resume" }),
    next: "stop",
  },
  inTask("interrupted rescue", ["rescuing"], clearTask, "continue"),
  inTask("interrupted change of the password", ["updating_password"], clearTask, "continue"),
  {
    row: "plug VIFs",
    when: ({ plugsVifs }) => plugsVifs,
    act: () => ({ kind: "plug-vifs" }),
    next: "continue",
  },
  inTask("resize_migrating", ["resize_migrating"], { kind: "revert-resize" }, "continue"),
  inTask("resize_finish", ["resize_finish"], { kind: "fail-resize" }, "stop"),
  inTask("migrating", ["migrating"], { kind: "recover-live-migration" }, "continue"),
  {
    row: "resume on host boot",
    // Upstream does this in the middle of a move as well, when the guest has left or has not arrived: it creates a
    // second one.
    when: ({ instance, power, resumeGuests }) =>
      resumeGuests &&
      instance.taskState === null &&
      instance.powerState === POWER_STATES.running &&
      power !== POWER_STATES.running,
    act: () => ({ kind: "resume-on-host-boot" }),
    next: "stop",
  },
];

/** A row that applies, with its action. */
export interface InitStep {
  readonly row: string;
  readonly action: InitAction;
}

/**
 * Returns all actions of start-up on one instance, in order. The changes of a row apply to the rows below it. A move's
 * recovery ends without a task_state, so the rows below it see none.
 */
export function planInitInstance(inputs: InitInputs): readonly InitStep[] {
  const steps: InitStep[] = [];
  let instance = inputs.instance;
  for (const { row, when, act, next } of INIT_ROWS) {
    const current = { ...inputs, instance };
    if (!when(current)) {
      continue;
    }
    const action = act(current);
    steps.push({ row, action });
    if (next === "stop") {
      break;
    }
    if (action.kind === "save") {
      instance = { ...instance, ...action.changes };
    } else if (action.kind !== "plug-vifs" && action.kind !== "take-guest-back") {
      instance = { ...instance, taskState: null };
    }
  }
  return steps;
}
