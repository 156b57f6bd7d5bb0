import { createAllocationError } from "../../../placement-client/errors.js";
import type { Instance } from "../../../records/index.js";
import { GuestNotFound } from "../../../virt/errors.js";
import { ignore } from "../../ignore-errors.js";
import { UNPLACED } from "../../tracker/contract.js";
import { demand, type Gate } from "../flow/admission.js";
import type { AdmittedFlow, OperationServices } from "../flow/contract.js";
import { destroyOptions } from "../flow/guest-options.js";
import { insist } from "../flow/release-allocations.js";
import { type GuestProgress, guestFlow, runSteps } from "../flow/step-list.js";
import { deleteRejectedImage, deleteSnapshotImage, type SnapshotStages, updateTaskState } from "./snapshot-instance.js";

/**
 * Excludes a soft delete, which may supersede any task and needs the guest and its allocations. An offload of a
 * start-up may have no task_state.
 */
const OFFLOADING = ["shelving", "shelving_offloading", null] as const;

const STILL_OFFLOADED: Gate = {
  method: "shelve_offload_instance",
  admission: { instance: "here", tasks: OFFLOADING },
};

/** A repeated operation may find that the guest is already gone. */
async function powerOff({ services, instance }: Pick<GuestProgress<unknown>, "services" | "instance">): Promise<void> {
  await services.driver.powerOff(instance).catch(ignore(GuestNotFound));
}

/**
 * Spec 6.6 "offload": the allocations are removed before the instance becomes offloaded (spec V24, bug 1798688). If a
 * step before the release fails, nothing has changed, and it may be repeated.
 */
export const SHELVE_OFFLOAD_INSTANCE = guestFlow("shelve_offload_instance", {
  power_off: powerOff,
  destroy: async ({ services, instance, request }) => {
    await demand(services, STILL_OFFLOADED, request);
    await services.driver.destroy(instance, await destroyOptions(services, instance, true));
  },
  release_volumes: ({ services, instance }) => services.volumes.reserveAgain(instance),
  release: async ({ services, instance, request }) => {
    const { uuid } = instance;
    const options = { force: true, requestId: request.requestId };
    const released = await insist(services, async () => {
      await demand(services, STILL_OFFLOADED, request);
      return await services.placement.deleteAllocation(uuid, options);
    });
    if (released === null) {
      throw createAllocationError(
        "AllocationDeleteFailed",
        uuid,
        "Placement cannot be reached; offload the instance again",
      );
    }
  },
  record: async (progress) => {
    const { services, instance } = progress;
    progress.instance = await services.tracker.saveInstance(
      instance,
      {
        vmState: "shelved_offloaded",
        taskState: null,
        powerState: 0,
        ...UNPLACED,
        launchedOn: null,
        ...(instance.systemMetadata.shelved_at === undefined ? shelvedMark(services, instance) : {}),
      },
      OFFLOADING,
    );
  },
});

const STAGES: SnapshotStages = {
  image_pending_upload: { task: "shelving_image_pending_upload", from: "shelving" },
  image_uploading: { task: "shelving_image_uploading", from: "shelving_image_pending_upload" },
};

/**
 * Spec 6.6 "shelve": up to `shelved` the allocations stay. After a failed step the task_state is cleared, and the image
 * is deleted (Nova leaves it queued).
 */
const FLOW = guestFlow(
  "shelve_instance",
  {
    power_off: powerOff,
    snapshot: async ({ services, instance, request: { imageId } }) => {
      await services.driver.snapshot(instance, imageId, {
        updateTaskState: updateTaskState(services, instance.uuid, STAGES),
      });
    },
    record: async (progress) => {
      const { services, instance, request } = progress;
      const powerState = await services.driver.powerState(instance);
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

/** `shelved_offload_time`: 0 offloads immediately; above 0 the periodic task offloads; -1 never. */
const offloadsAtOnce = (services: OperationServices): boolean => services.config.defaults.shelvedOffloadTime === 0;

/** Returns the instance's system metadata about its shelving. */
function shelvedMark(services: OperationServices, instance: Instance, imageId?: string) {
  return {
    systemMetadata: {
      ...instance.systemMetadata,
      shelved_at: String(services.runtime.clock.now()),
      shelved_host: services.host,
      ...(imageId === undefined ? {} : { shelved_image_id: imageId }),
    },
  };
}
