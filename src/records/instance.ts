import {
  amount,
  defaultsOf,
  flag,
  id,
  integer,
  LONG,
  LONGEST,
  listOf,
  mapOf,
  name,
  nullable,
  object,
  oneOf,
  oneOfNumbers,
  type RecordOf,
  text,
  time,
  uuid,
  withDefault,
  without,
} from "./field.js";
import { FLAVOR, FLAVOR_AMOUNTS, flavorColumns } from "./flavor.js";
import { MIGRATION_CONTEXT } from "./migration.js";

export type InjectedFile = RecordOf<typeof INJECTED_FILE>;

/** A file injected into a new guest (`personality`). @internal */
export const INJECTED_FILE = {
  /** The path in the guest. */
  path: text(),
  /** Base64, as in the user's request. */
  contents: text(LONGEST),
};

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

const flavor = object(FLAVOR);

const nameOrNull = withDefault(nullable(name), null);

const textOrNull = withDefault(nullable(text()), null);

const timeOrNull = withDefault(nullable(time), null);

const no = withDefault(flag, false);

const noFlavor = withDefault(nullable(flavor), null);

const noMetadata = withDefault(mapOf(text(LONG)), {});

/**
 * A system metadata key: the id of a move that an evacuation has ended. The guest may still be on the source, or on the
 * destination of a live migration.
 */
export const SET_ASIDE_BY = "set_aside_by";

/** A system metadata key of an instance between two hosts: data from the source's driver for the destination's. */
export const DISK_INFO = "resize_disk_info";

/** A row of `instances` (spec 1.4). */
export const INSTANCE = {
  id,
  uuid,
  projectId: text(),
  userId: text(),
  /** The name from the user: neither unique nor safe as a file name. */
  displayName: text(),
  displayDescription: textOrNull,
  /** The guest's host name. */
  hostname: text(),
  reservationId: text(),
  /** Its index among the instances of one request, from 0. */
  launchIndex: withDefault(amount, 0),
  /** Empty when booted from a volume. */
  imageRef: text(),
  /** host, node and computeId are written in one update, or all null. */
  host: nameOrNull,
  node: nameOrNull,
  computeId: withDefault(nullable(id), null),
  /** Set by the build's claim; moves do not change it. */
  launchedOn: nameOrNull,
  availabilityZone: textOrNull,
  /** The state after the last completed operation. */
  vmState: withDefault(oneOf(VM_STATES), "building"),
  /** The step of the running operation; null if none runs. */
  taskState: withDefault(nullable(oneOf(TASK_STATES)), "scheduling"),
  /** The request that set the task_state, `req-<uuid>`. Null without a task, and in rows of earlier releases. */
  taskRequestId: textOrNull,
  /** An acknowledged delete that has not completed, even if another request has taken the task_state since. */
  deleteRequestId: textOrNull,
  /** As last recorded; may lag behind the guest. */
  powerState: withDefault(oneOfNumbers(Object.values(POWER_STATES)), POWER_STATES.nostate),
  /** The current flavor. */
  flavor,
  /** The flavor before a resize, until the resize is confirmed or reverted. */
  oldFlavor: noFlavor,
  /** The flavor after a resize, until the resize is confirmed or reverted. */
  newFlavor: noFlavor,
  /** The flavor's id. */
  instanceTypeId: id,
  ...FLAVOR_AMOUNTS,
  /** Metadata set by users. */
  metadata: noMetadata,
  /** Metadata of the control plane. `image_<property>` are the image's properties when the server was created. */
  systemMetadata: noMetadata,
  /** Set from the claim of a move until its end. */
  migrationContext: withDefault(nullable(object(MIGRATION_CONTEXT)), null),
  configDrive: no,
  /** The name of the key pair that the user chose. */
  keyName: textOrNull,
  /** The public key at that time. */
  keyData: withDefault(nullable(text(LONG)), null),
  /** The addresses that the user expects; they are not verified. */
  accessIpV4: textOrNull,
  accessIpV6: textOrNull,
  /** Whether the guest's partition grows with its disk: `OS-DCF:diskConfig` is AUTO. */
  autoDiskConfig: no,
  /** Base64, as in the user's request. */
  userData: withDefault(nullable(text(LONG)), null),
  /** Files injected into a new guest (`personality`), in the order of the request. */
  injectedFiles: withDefault(listOf(object(INJECTED_FILE)), []),
  tags: withDefault(listOf(text()), []),
  locked: no,
  lockedReason: textOrNull,
  /** Progress of the running operation in percent. */
  progress: withDefault(integer(0, 100), 0),
  /** A shadow row of a cross-cell move. */
  hidden: no,
  /** Whether local files were removed after the delete. */
  cleaned: no,
  /** 0 while the row is not deleted, else the row's id. */
  deleted: withDefault(id, 0),
  deletedAt: timeOrNull,
  createdAt: time,
  updatedAt: timeOrNull,
  launchedAt: timeOrNull,
  terminatedAt: timeOrNull,
};

export type Instance = RecordOf<typeof INSTANCE>;

/**
 * The columns that an update may change; the store manages identity and timestamps. An operation that begins passes its
 * request with the task_state. Later task_states of the same request may omit it.
 */
export const INSTANCE_CHANGES = without(
  INSTANCE,
  "id",
  "uuid",
  "projectId",
  "deleteRequestId",
  "deleted",
  "deletedAt",
  "createdAt",
  "updatedAt",
);

export type InstanceChanges = Partial<RecordOf<typeof INSTANCE_CHANGES>>;

/** The fields that a new instance requires. */
export type NewInstance = Pick<
  Instance,
  "uuid" | "projectId" | "userId" | "displayName" | "hostname" | "reservationId" | "imageRef" | "flavor"
> &
  Partial<Instance>;

/** Returns a new instance with Nova's defaults for missing fields. */
export function newInstance(values: NewInstance): Omit<Instance, "id" | "createdAt"> {
  return { ...defaultsOf(INSTANCE), ...flavorColumns(values.flavor), ...values };
}

/**
 * Returns whether the task_state belongs to this request and is one of `tasks`. The state alone is not sufficient:
 * another request may have set the same state since. Rows of earlier releases have no request, so there the state
 * decides.
 */
export function holdsTask(
  { taskState, taskRequestId }: Pick<Instance, "taskState" | "taskRequestId">,
  requestId: string,
  tasks: readonly (TaskState | null)[],
): boolean {
  return tasks.includes(taskState) && (taskRequestId === null || taskRequestId === requestId);
}

export const REBUILD_TASK_STATES: readonly TaskState[] = [
  "rebuilding",
  "rebuild_block_device_mapping",
  "rebuild_spawning",
];

/** Returns whether the instance's resources no longer count on a node (spec 1.4). */
export function allowsResourceRemoval(instance: Pick<Instance, "vmState" | "taskState">): boolean {
  return (
    instance.vmState === "deleted" || (instance.vmState === "shelved_offloaded" && instance.taskState !== "spawning")
  );
}

/** An entry of an instance's fault list. */
export const INSTANCE_FAULT = {
  instanceUuid: uuid,
  code: amount,
  message: text(LONG),
  details: nullable(text(LONGEST)),
  host: nullable(text()),
  createdAt: time,
};

export type InstanceFault = RecordOf<typeof INSTANCE_FAULT>;

/**
 * A system metadata key: the request of an evacuation that interrupted a rebuild of the instance. The rebuild does not
 * complete and may have destroyed the guest.
 */
const INTERRUPTED_REBUILD = "interrupted_rebuild";

/**
 * Records the evacuation that interrupts a rebuild.
 * @param requestId the request of the evacuation; null if there was no rebuild, which removes the entry of an earlier
 * evacuation
 */
export function markInterruptedRebuild(
  { systemMetadata }: Pick<Instance, "systemMetadata">,
  requestId: string | null,
): Pick<InstanceChanges, "systemMetadata"> {
  const { [INTERRUPTED_REBUILD]: _earlier, ...rest } = systemMetadata;
  return { systemMetadata: requestId === null ? rest : { ...rest, [INTERRUPTED_REBUILD]: requestId } };
}

/** Returns whether the current evacuation interrupted a rebuild. A real Nova does not report the request of a task. */
export function hasInterruptedRebuild({
  systemMetadata: { [INTERRUPTED_REBUILD]: requestId },
  taskRequestId,
}: Pick<Instance, "systemMetadata" | "taskRequestId">): boolean {
  return requestId !== undefined && (taskRequestId === null || taskRequestId === requestId);
}

/**
 * Returns the changes for an instance whose evacuation ends before it touched the guest. The vm_state remains, except
 * after an interrupted rebuild: its guest on the source may be gone, so the instance goes to error.
 */
export function afterRejectedEvacuation(
  instance: Pick<Instance, "systemMetadata" | "taskRequestId">,
): Pick<InstanceChanges, "taskState" | "vmState"> {
  return { taskState: null, ...(hasInterruptedRebuild(instance) ? { vmState: "error" } : {}) };
}

/** The API's record of an operation on an instance (spec 1.6). */
export const INSTANCE_ACTION = {
  id,
  action: text(),
  instanceUuid: uuid,
  requestId: text(),
  userId: nullable(text()),
  projectId: nullable(text()),
  startTime: time,
  finishTime: nullable(time),
  /** `Error` if one of its events failed. */
  message: nullable(text()),
  updatedAt: nullable(time),
};

export type InstanceAction = RecordOf<typeof INSTANCE_ACTION>;

export const INSTANCE_ACTION_EVENT = {
  id,
  actionId: id,
  /** `compute__do_build_and_run_instance` and so on. */
  event: text(),
  startTime: time,
  finishTime: nullable(time),
  result: nullable(oneOf(["Success", "Error"])),
  traceback: nullable(text(LONGEST)),
  details: nullable(text(LONGEST)),
  host: nullable(text()),
};

export type InstanceActionEvent = RecordOf<typeof INSTANCE_ACTION_EVENT>;
