import type { Instance, InstanceChanges } from "./instance.js";

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
