import type { Instance, TaskState, VmState } from "../../../records/index.js";

type Statuses = Readonly<Partial<Record<TaskState, string>>> & { readonly default: string };

const REBUILD = { rebuilding: "REBUILD", rebuild_block_device_mapping: "REBUILD", rebuild_spawning: "REBUILD" };
const RESIZE = {
  resize_prep: "RESIZE",
  resize_migrating: "RESIZE",
  resize_migrated: "RESIZE",
  resize_finish: "RESIZE",
};

/** Nova's table of the status by vm_state and task_state. */
const STATUS: Readonly<Record<VmState, Statuses>> = {
  active: {
    default: "ACTIVE",
    rebooting: "REBOOT",
    reboot_pending: "REBOOT",
    reboot_started: "REBOOT",
    rebooting_hard: "HARD_REBOOT",
    reboot_pending_hard: "HARD_REBOOT",
    reboot_started_hard: "HARD_REBOOT",
    updating_password: "PASSWORD",
    ...REBUILD,
    migrating: "MIGRATING",
    ...RESIZE,
  },
  building: { default: "BUILD" },
  stopped: { default: "SHUTOFF", ...RESIZE, ...REBUILD },
  resized: { default: "VERIFY_RESIZE", resize_reverting: "REVERT_RESIZE" },
  paused: { default: "PAUSED", migrating: "MIGRATING" },
  suspended: { default: "SUSPENDED" },
  rescued: { default: "RESCUE" },
  error: { default: "ERROR", ...REBUILD },
  deleted: { default: "DELETED" },
  "soft-delete": { default: "SOFT_DELETED" },
  shelved: { default: "SHELVED" },
  shelved_offloaded: { default: "SHELVED_OFFLOADED" },
};

/** Every server status of the API. */
export const SERVER_STATUSES: readonly string[] = [...new Set(Object.values(STATUS).flatMap(Object.values))].toSorted();

export function serverStatus({ vmState, taskState }: Pick<Instance, "vmState" | "taskState">): string {
  const statuses = STATUS[vmState];
  return (taskState && statuses[taskState]) ?? statuses.default;
}

export interface StatesOfStatus {
  readonly vmStates: readonly VmState[];
  /** Absent if the status does not depend on the task state. */
  readonly taskStates?: readonly TaskState[];
}

/** Returns the states for the values of a `status` filter; undefined if none of them is a status. */
export function statesOfStatus(values: readonly string[]): StatesOfStatus | undefined {
  const requestedStatuses = new Set(values.map((value) => value.toUpperCase()));
  const vmStates = new Set<VmState>();
  const tasks = new Set<TaskState | "default">();
  for (const [vmState, statuses] of Object.entries(STATUS) as [VmState, Statuses][]) {
    for (const [task, status] of Object.entries(statuses) as [TaskState | "default", string][]) {
      if (!requestedStatuses.has(status)) {
        continue;
      }
      vmStates.add(vmState);
      tasks.add(task);
    }
  }
  if (vmStates.size === 0) {
    return undefined;
  }
  return tasks.has("default")
    ? { vmStates: [...vmStates] }
    : { vmStates: [...vmStates], taskStates: [...tasks] as TaskState[] };
}
