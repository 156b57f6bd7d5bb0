import type { TaskState } from "../../../records/index.js";
import type { SnapshotStage } from "../../../virt/types.js";
import type { OperationParts } from "../contract.js";
import { guestFlow } from "../flow/guest-flow.js";
import { runSteps } from "../flow/step-list.js";
import { powerOffIfThere, SHELVE_OFFLOAD_INSTANCE, shelvedMark } from "./shelve-offload.js";

const STAGES: Readonly<Record<SnapshotStage, { readonly task: TaskState; readonly from: TaskState }>> = {
  image_pending_upload: { task: "shelving_image_pending_upload", from: "shelving" },
  image_uploading: { task: "shelving_image_uploading", from: "shelving_image_pending_upload" },
};

/**
 * Spec 6.6 "shelve": up to `shelved` the allocations stay. When a step failed, the instance has no task state any more.
 */
export const SHELVE_INSTANCE = guestFlow(
  "shelve_instance",
  {
    power_off: ({ parts, instance }) => powerOffIfThere(parts, instance),
    snapshot: async ({ parts, instance, request: { imageId } }) => {
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
      const { parts, instance, request } = progress;
      const powerState = await parts.context.driver.powerState(instance);
      progress.instance = await parts.tracker.saveInstance(
        instance,
        {
          vmState: "shelved",
          powerState,
          taskState: offloadsAtOnce(parts) ? "shelving_offloading" : null,
          ...shelvedMark(parts, instance, request.imageId),
        },
        ["shelving", "shelving_image_uploading"],
      );
    },
  },
  async (progress) => {
    if (offloadsAtOnce(progress.parts)) {
      await runSteps(progress.parts, SHELVE_OFFLOAD_INSTANCE.list, progress);
    }
  },
);

/** `shelved_offload_time` 0; more: the periodic task does it; -1: nobody. */
const offloadsAtOnce = ({ context }: OperationParts): boolean => context.config.defaults.shelvedOffloadTime === 0;
