import type { AdmittedFlow, OperationServices } from "../contract.js";
import { guestFlow } from "../flow/guest-flow.js";
import { runSteps } from "../flow/step-list.js";
import { powerOffIfThere } from "./power-off-if-there.js";
import { SHELVE_OFFLOAD_INSTANCE, shelvedMark } from "./shelve-offload.js";
import { deleteRejectedImage, deleteSnapshotImage, type SnapshotStages, updateTaskState } from "./snapshot-stages.js";

const STAGES: SnapshotStages = {
  image_pending_upload: { task: "shelving_image_pending_upload", from: "shelving" },
  image_uploading: { task: "shelving_image_uploading", from: "shelving_image_pending_upload" },
};

/**
 * Spec 6.6 "shelve": up to `shelved` the allocations stay. When a step failed, the instance has no task state any more, and its
 * image is deleted (Nova leaves it queued).
 */
const FLOW = guestFlow(
  "shelve_instance",
  {
    power_off: ({ services, instance }) => powerOffIfThere(services.context.driver, instance),
    snapshot: async ({ services, instance, request: { imageId } }) => {
      await services.context.driver.snapshot(instance, imageId, {
        updateTaskState: updateTaskState(services, instance.uuid, STAGES),
      });
    },
    record: async (progress) => {
      const { services, instance, request } = progress;
      const powerState = await services.context.driver.powerState(instance);
      progress.instance = await services.tracker.saveInstance(
        instance,
        {
          vmState: "shelved",
          powerState,
          taskState: offloadsAtOnce(services) ? "shelving_offloading" : null,
          ...shelvedMark(services, instance, request.imageId),
        },
        ["shelving", "shelving_image_uploading"],
      );
    },
  },
  {
    after: async (progress) => {
      if (offloadsAtOnce(progress.services)) {
        await runSteps(progress.services, SHELVE_OFFLOAD_INSTANCE.list, progress);
      }
    },
    failed: deleteSnapshotImage,
  },
);

export const SHELVE_INSTANCE: AdmittedFlow<"shelve_instance"> = { ...FLOW, onRejected: deleteRejectedImage };

/** `shelved_offload_time` 0; more: the periodic task does it; -1: nobody. */
const offloadsAtOnce = ({ context }: OperationServices): boolean => context.config.defaults.shelvedOffloadTime === 0;
