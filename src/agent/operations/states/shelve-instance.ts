import type { Instance, TaskState } from "../../../records/index.js";
import type { SnapshotStage } from "../../../virt/types.js";
import { operation } from "../flow/error-wrappers.js";
import { runSteps, stepList } from "../flow/step-list.js";
import type { OperationParts } from "../parts.js";
import { powerOffIfThere, SHELVE_OFFLOAD_INSTANCE, type ShelveProgress, shelvedMark } from "./shelve-offload.js";

interface SnapshotProgress extends ShelveProgress {
  readonly imageId: string;
}

const STAGES: Readonly<Record<SnapshotStage, { readonly task: TaskState; readonly from: TaskState }>> = {
  image_pending_upload: { task: "shelving_image_pending_upload", from: "shelving" },
  image_uploading: { task: "shelving_image_uploading", from: "shelving_image_pending_upload" },
};

/** Spec 6.6 "shelve", up to `shelved`; the allocations stay. */
export const SHELVE_INSTANCE = stepList<SnapshotProgress>("shelve_instance", {
  power_off: ({ parts, instance }) => powerOffIfThere(parts, instance),
  snapshot: async ({ parts, instance, imageId }) => {
    const { conductor, driver, host } = parts.context;
    await driver.snapshot(instance, imageId, {
      updateTaskState: async (stage) => {
        const { task, from } = STAGES[stage];
        await conductor.call("instance_save", {
          uuid: instance.uuid,
          changes: { taskState: task },
          expectedTaskState: [from],
          expectedHost: host,
        });
      },
    });
  },
  record: async (progress) => {
    const { parts, instance, imageId } = progress;
    const powerState = await parts.context.driver.powerState(instance);
    progress.instance = await parts.tracker.saveInstance(
      instance,
      {
        vmState: "shelved",
        powerState,
        taskState: offloadsAtOnce(parts) ? "shelving_offloading" : null,
        ...shelvedMark(parts, instance, imageId),
      },
      ["shelving", "shelving_image_uploading"],
    );
  },
});

/** @throws what the failed step threw; the instance then has no task state. */
export async function shelveInstance(
  parts: OperationParts,
  instance: Instance,
  imageId: string,
  requestId: string,
): Promise<void> {
  const named = { instanceUuid: instance.uuid, event: "compute_shelve_instance", requestId };
  await operation(parts.context, named, async () => {
    const progress: SnapshotProgress = { parts, instance, imageId, requestId };
    await runSteps(parts, SHELVE_INSTANCE, progress);
    if (offloadsAtOnce(parts)) {
      await runSteps(parts, SHELVE_OFFLOAD_INSTANCE, progress);
    }
  });
}

/** `shelved_offload_time` 0; more: the periodic task does it; -1: nobody. */
const offloadsAtOnce = ({ context }: OperationParts): boolean => context.config.defaults.shelvedOffloadTime === 0;
