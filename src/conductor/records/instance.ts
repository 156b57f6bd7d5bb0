import type { Flavor } from "./flavor.js";
import type { MigrationContext } from "./migration.js";

export const VM_STATES = [
  "building",
  "active",
  "paused",
  "suspended",
  "stopped",
  "rescued",
  "resized",
  "soft-delete",
  "deleted",
  "error",
  "shelved",
  "shelved_offloaded",
] as const;
export type VmState = (typeof VM_STATES)[number];

export const TASK_STATES = [
  "scheduling",
  "networking",
  "block_device_mapping",
  "spawning",
  "image_snapshot",
  "image_snapshot_pending",
  "image_pending_upload",
  "image_uploading",
  "image_backup",
  "resize_prep",
  "resize_migrating",
  "resize_migrated",
  "resize_finish",
  "resize_reverting",
  "resize_confirming",
  "rebooting",
  "reboot_pending",
  "reboot_started",
  "rebooting_hard",
  "reboot_pending_hard",
  "reboot_started_hard",
  "pausing",
  "unpausing",
  "suspending",
  "resuming",
  "powering-off",
  "powering-on",
  "rescuing",
  "unrescuing",
  "rebuilding",
  "rebuild_block_device_mapping",
  "rebuild_spawning",
  "migrating",
  "deleting",
  "soft-deleting",
  "restoring",
  "shelving",
  "shelving_image_pending_upload",
  "shelving_image_uploading",
  "shelving_offloading",
  "unshelving",
  "updating_password",
] as const;
export type TaskState = (typeof TASK_STATES)[number];

/** Nova's numbers. */
export const POWER_STATES = { nostate: 0, running: 1, paused: 3, shutdown: 4, crashed: 6, suspended: 7 } as const;
export type PowerState = (typeof POWER_STATES)[keyof typeof POWER_STATES];

/** A row of `instances` (spec 1.4). Times are milliseconds since the epoch. */
export interface Instance {
  readonly id: number;
  readonly uuid: string;
  readonly projectId: string;
  readonly userId: string;
  readonly displayName: string;
  readonly displayDescription: string | null;
  readonly hostname: string;
  readonly reservationId: string;
  readonly launchIndex: number;
  /** Empty when booted from a volume. */
  readonly imageRef: string;
  /** host, node and computeId are written together, or all null. */
  readonly host: string | null;
  readonly node: string | null;
  readonly computeId: number | null;
  /** Set by the claim of the build; later moves leave it. */
  readonly launchedOn: string | null;
  readonly availabilityZone: string | null;
  readonly vmState: VmState;
  readonly taskState: TaskState | null;
  /** The request that set the task_state, `req-<uuid>`. Null without one, and in rows of earlier releases. */
  readonly taskRequestId: string | null;
  /** A delete that was acknowledged and has not ended, also when another request has taken the task_state since. */
  readonly deleteRequestId: string | null;
  readonly powerState: PowerState;
  readonly flavor: Flavor;
  readonly oldFlavor: Flavor | null;
  readonly newFlavor: Flavor | null;
  readonly instanceTypeId: number;
  readonly vcpus: number;
  readonly memoryMb: number;
  readonly rootGb: number;
  readonly ephemeralGb: number;
  readonly metadata: Readonly<Record<string, string>>;
  readonly systemMetadata: Readonly<Record<string, string>>;
  readonly migrationContext: MigrationContext | null;
  readonly configDrive: boolean;
  readonly keyName: string | null;
  readonly userData: string | null;
  readonly tags: readonly string[];
  readonly locked: boolean;
  readonly lockedReason: string | null;
  readonly progress: number;
  /** A shadow row of a cross-cell move. */
  readonly hidden: boolean;
  /** Local files were removed after the delete. */
  readonly cleaned: boolean;
  /** 0 while alive, else the row's id. */
  readonly deleted: number;
  readonly deletedAt: number | null;
  readonly createdAt: number;
  readonly updatedAt: number | null;
  readonly launchedAt: number | null;
  readonly terminatedAt: number | null;
}

/**
 * What may be written to an instance; identity and book-keeping columns belong to the store. Whoever begins something gives
 * its request together with the task_state; the next task_states of the same request need not repeat it.
 */
export type InstanceChanges = Partial<
  Omit<Instance, "id" | "uuid" | "projectId" | "deleteRequestId" | "deleted" | "deletedAt" | "createdAt" | "updatedAt">
>;

/**
 * Whether the task_state of the instance is this request's, and one of those given. The state's name alone says little:
 * another request may have set the same one since. It has to be enough where no request is known, in rows of earlier releases.
 */
export const holdsTask = (
  { taskState, taskRequestId }: Pick<Instance, "taskState" | "taskRequestId">,
  requestId: string,
  tasks: readonly (TaskState | null)[],
): boolean => tasks.includes(taskState) && (taskRequestId === null || taskRequestId === requestId);

/** Resources of the instance are not counted on a node (spec 1.4). */
export const allowsResourceRemoval = (instance: Pick<Instance, "vmState" | "taskState">): boolean =>
  instance.vmState === "deleted" || (instance.vmState === "shelved_offloaded" && instance.taskState !== "spawning");

/** One entry of an instance's fault list. */
export interface InstanceFault {
  readonly instanceUuid: string;
  readonly code: number;
  readonly message: string;
  readonly details: string | null;
  readonly host: string | null;
  readonly createdAt: number;
}
