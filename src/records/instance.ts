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

/** A file that a guest is to begin with (`personality`). @internal */
export const INJECTED_FILE = {
  /** In the guest. */
  path: text(),
  /** Base64, as the user gave it. */
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
 * In the system metadata: the id of a move that an evacuation has ended. Its source may have set the guest aside, or its
 * destination may have the guest of a live migration.
 */
export const SET_ASIDE_BY = "set_aside_by";

/** In the system metadata of an instance that is between its hosts: what the source's driver tells the destination's. */
export const DISK_INFO = "resize_disk_info";

/** A row of `instances` (spec 1.4). */
export const INSTANCE = {
  id,
  uuid,
  projectId: text(),
  userId: text(),
  /** What its user calls it: neither unique nor safe as a file name. */
  displayName: text(),
  displayDescription: textOrNull,
  /** The name that the guest is to have. */
  hostname: text(),
  reservationId: text(),
  /** Its place among those that one request made, from 0. */
  launchIndex: withDefault(amount, 0),
  /** Empty when booted from a volume. */
  imageRef: text(),
  /** host, node and computeId are written together, or all null. */
  host: nameOrNull,
  node: nameOrNull,
  computeId: withDefault(nullable(id), null),
  /** Set by the claim of the build; later moves leave it. */
  launchedOn: nameOrNull,
  availabilityZone: textOrNull,
  /** What it is, as the last operation left it. */
  vmState: withDefault(oneOf(VM_STATES), "building"),
  /** What is being done to it; null: nothing. */
  taskState: withDefault(nullable(oneOf(TASK_STATES)), "scheduling"),
  /** The request that set the task_state, `req-<uuid>`. Null without one, and in rows of earlier releases. */
  taskRequestId: textOrNull,
  /** A delete that was acknowledged and has not ended, also when another request has taken the task_state since. */
  deleteRequestId: textOrNull,
  /** As it was last recorded, which may lag behind the guest. */
  powerState: withDefault(oneOfNumbers(Object.values(POWER_STATES)), POWER_STATES.nostate),
  /** What it has now. */
  flavor,
  /** What a resize began with, until it is confirmed or reverted. */
  oldFlavor: noFlavor,
  /** What a resize leads to, until it is confirmed or reverted. */
  newFlavor: noFlavor,
  /** The flavor's id. */
  instanceTypeId: id,
  ...FLAVOR_AMOUNTS,
  /** The user's own. */
  metadata: noMetadata,
  /** The control plane's own; `image_<property>` is what the image said when the server was made. */
  systemMetadata: noMetadata,
  /** Between the claim of a move and its end. */
  migrationContext: withDefault(nullable(object(MIGRATION_CONTEXT)), null),
  configDrive: no,
  /** Name of the key pair that its user chose. */
  keyName: textOrNull,
  /** Its public key, as it was then. */
  keyData: withDefault(nullable(text(LONG)), null),
  /** The addresses that its user wants it to be reached at; nobody looks whether it is. */
  accessIpV4: textOrNull,
  accessIpV6: textOrNull,
  /** The guest's partition grows with its disk: `OS-DCF:diskConfig` is AUTO. */
  autoDiskConfig: no,
  /** Base64, as the user gave it. */
  userData: withDefault(nullable(text(LONG)), null),
  /** Files that the guest is to begin with (`personality`), in the order in which its user gave them. */
  injectedFiles: withDefault(listOf(object(INJECTED_FILE)), []),
  tags: withDefault(listOf(text()), []),
  locked: no,
  lockedReason: textOrNull,
  /** Percent of what is being done. */
  progress: withDefault(integer(0, 100), 0),
  /** A shadow row of a cross-cell move. */
  hidden: no,
  /** Local files were removed after the delete. */
  cleaned: no,
  /** 0 while alive, else the row's id. */
  deleted: withDefault(id, 0),
  deletedAt: timeOrNull,
  createdAt: time,
  updatedAt: timeOrNull,
  launchedAt: timeOrNull,
  terminatedAt: timeOrNull,
};

export type Instance = RecordOf<typeof INSTANCE>;

/**
 * What may be written to an instance; identity and book-keeping columns belong to the store. An operation that begins gives
 * its request together with the task_state; the next task_states of the same request need not repeat it.
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

/** What the creator of an instance must give. */
export type NewInstance = Pick<
  Instance,
  "uuid" | "projectId" | "userId" | "displayName" | "hostname" | "reservationId" | "imageRef" | "flavor"
> &
  Partial<Instance>;

/** An instance with what the caller left out as Nova has it for a new one. */
export function newInstance(values: NewInstance): Omit<Instance, "id" | "createdAt"> {
  return { ...defaultsOf(INSTANCE), ...flavorColumns(values.flavor), ...values };
}

/**
 * Whether the task_state of the instance is this request's, and one of those given. The state's name alone says little:
 * another request may have set the same one since. It has to be enough where no request is known, in rows of earlier releases.
 */
export function holdsTask(
  { taskState, taskRequestId }: Pick<Instance, "taskState" | "taskRequestId">,
  requestId: string,
  tasks: readonly (TaskState | null)[],
): boolean {
  return tasks.includes(taskState) && (taskRequestId === null || taskRequestId === requestId);
}

/** The task states of a rebuild, and of an evacuation. */
export const REBUILD_TASK_STATES: readonly TaskState[] = [
  "rebuilding",
  "rebuild_block_device_mapping",
  "rebuild_spawning",
];

/** Resources of the instance are not counted on a node (spec 1.4). */
export function allowsResourceRemoval(instance: Pick<Instance, "vmState" | "taskState">): boolean {
  return (
    instance.vmState === "deleted" || (instance.vmState === "shelved_offloaded" && instance.taskState !== "spawning")
  );
}

/** One entry of an instance's fault list. */
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
 * A key of the system metadata. Its value is the request of an evacuation that took the instance from a rebuild. The rebuild does
 * not end any more, and may have destroyed the guest.
 */
const INTERRUPTED_REBUILD = "interrupted_rebuild";

/**
 * Names the evacuation that takes the instance from a rebuild.
 * @param requestId the request of the evacuation; null if it does not, which removes what an earlier evacuation has left
 */
export function markInterruptedRebuild(
  { systemMetadata }: Pick<Instance, "systemMetadata">,
  requestId: string | null,
): Pick<InstanceChanges, "systemMetadata"> {
  const { [INTERRUPTED_REBUILD]: _earlier, ...rest } = systemMetadata;
  return { systemMetadata: requestId === null ? rest : { ...rest, [INTERRUPTED_REBUILD]: requestId } };
}

/** Reports whether the evacuation that has the instance took it from a rebuild. A Nova does not tell the request of a task. */
export function hasInterruptedRebuild({
  systemMetadata: { [INTERRUPTED_REBUILD]: requestId },
  taskRequestId,
}: Pick<Instance, "systemMetadata" | "taskRequestId">): boolean {
  return requestId !== undefined && (taskRequestId === null || taskRequestId === requestId);
}

/**
 * Returns the changes of an instance whose evacuation ends before it has done anything to the guest: the vm_state stays. An
 * instance that was taken from a rebuild is in error instead, because its guest on the source may be gone.
 */
export function afterRejectedEvacuation(
  instance: Pick<Instance, "systemMetadata" | "taskRequestId">,
): Pick<InstanceChanges, "taskState" | "vmState"> {
  return { taskState: null, ...(hasInterruptedRebuild(instance) ? { vmState: "error" } : {}) };
}

/** What the API records of an operation on an instance (spec 1.6). */
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
