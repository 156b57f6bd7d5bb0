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
  | { readonly kind: "unpause" | "stop" | "start" | "resume-on-host-boot" | "offload" | "plug-vifs" }
  | { readonly kind: "change-state"; readonly change: StateChangeName }
  | {
      readonly kind:
        | "take-guest-back"
        | "undo-resize-prep"
        | "revert-resize"
        | "fail-resize"
        | "recover-live-migration";
    };

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

/** Repeated state changes, and the operations that run them. An interrupted unpause has its own rows. */
export const STATE_CHANGES = {
  pause: "pause_instance",
  suspend: "suspend_instance",
  resume: "resume_instance",
  unrescue: "unrescue_instance",
  softDelete: "soft_delete_instance",
  restore: "restore_instance",
} as const satisfies Readonly<Record<string, InstanceMethod>>;

type StateChangeName = keyof typeof STATE_CHANGES;

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
  {
    row: "interrupted rebuild",
    when: (inputs) => taskIn(inputs, REBUILD_TASK_STATES),
    act: () => toError,
    next: "stop",
  },
  {
    row: "interrupted snapshot",
    when: (inputs) => inputs.instance.vmState !== "error" && taskIn(inputs, SNAPSHOT_TASKS),
    act: () => clearTask,
    next: "continue",
  },
  {
    row: "interrupted resize_prep",
    when: (inputs) => inputs.instance.vmState !== "error" && taskIn(inputs, ["resize_prep"]),
    act: () => ({ kind: "undo-resize-prep" }),
    next: "continue",
  },
  {
    row: "interrupted delete",
    when: (inputs) => taskIn(inputs, ["deleting"]),
    act: () => ({ kind: "terminate" }),
    next: "stop",
  },
  { row: "reboot retry", when: retriesReboot, act: rebootAgain, next: "stop" },
  {
    row: "finished but not recorded",
    when: (inputs) =>
      inputs.power === POWER_STATES.running && taskIn(inputs, [...STARTED_REBOOT_TASKS, "pausing", "unpausing"]),
    act: () => ({ kind: "save", changes: { taskState: null, vmState: "active" } }),
    next: "continue",
  },
  {
    row: "unpausing",
    // Upstream leaves an instance whose guest has lost its power in this task forever: here the operation fails, and
    // reports it.
    when: (inputs) => taskIn(inputs, ["unpausing"]),
    act: () => ({ kind: "unpause" }),
    next: "stop",
  },
  {
    row: "powering-off",
    when: (inputs) => taskIn(inputs, ["powering-off"]),
    act: () => ({ kind: "stop" }),
    next: "stop",
  },
  {
    row: "powering-on",
    when: (inputs) => taskIn(inputs, ["powering-on"]),
    act: () => ({ kind: "start" }),
    next: "stop",
  },
  // Upstream leaves these as they are (spec V31).
  {
    row: "interrupted shelve",
    when: (inputs) => taskIn(inputs, SHELVE_TASKS),
    act: () => clearTask,
    next: "continue",
  },
  {
    row: "interrupted offload",
    when: (inputs) => taskIn(inputs, ["shelving_offloading"]),
    act: () => ({ kind: "offload" }),
    next: "stop",
  },
  {
    row: "interrupted change of state",
    when: ({ instance }) => changeOf(instance) !== undefined,
    act: ({ instance }) => ({ kind: "change-state", change: changeOf(instance) ?? "resume" }),
    next: "stop",
  },
  {
    row: "interrupted rescue",
    when: (inputs) => taskIn(inputs, ["rescuing"]),
    act: () => clearTask,
    next: "continue",
  },
  {
    row: "interrupted change of the password",
    when: (inputs) => taskIn(inputs, ["updating_password"]),
    act: () => clearTask,
    next: "continue",
  },
  {
    row: "plug VIFs",
    when: ({ plugsVifs }) => plugsVifs,
    act: () => ({ kind: "plug-vifs" }),
    next: "continue",
  },
  {
    row: "resize_migrating",
    when: (inputs) => taskIn(inputs, ["resize_migrating"]),
    act: () => ({ kind: "revert-resize" }),
    next: "continue",
  },
  {
    row: "resize_finish",
    when: (inputs) => taskIn(inputs, ["resize_finish"]),
    act: () => ({ kind: "fail-resize" }),
    next: "stop",
  },
  {
    row: "migrating",
    when: (inputs) => taskIn(inputs, ["migrating"]),
    act: () => ({ kind: "recover-live-migration" }),
    next: "continue",
  },
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
