import { AllocationDeleteFailed } from "../../../placement-client/errors.js";
import type { Instance } from "../../../records/index.js";
import { UNPLACED } from "../../unplaced.js";
import { demand, type Gate } from "../admission/admission.js";
import type { OperationServices } from "../contract.js";
import { guestFlow } from "../flow/guest-flow.js";
import { destroyOptions } from "../flow/guest-options.js";
import { insist } from "../flow/insist.js";
import { powerOffIfThere } from "./power-off-if-there.js";

/** A soft delete may overtake any task: it wants the guest and what it holds. A start-up's offload may have no task_state any more. */
const OFFLOADING = ["shelving", "shelving_offloading", null] as const;
const STILL_OFFLOADED: Gate = {
  method: "shelve_offload_instance",
  admission: { instance: "here", tasks: OFFLOADING },
};

/**
 * Spec 6.6 "offload": the allocations are gone before the instance says that it is offloaded (spec V24, bug 1798688). When a
 * step before the release fails, nothing has changed, and it may be tried again.
 */
export const SHELVE_OFFLOAD_INSTANCE = guestFlow("shelve_offload_instance", {
  power_off: ({ services, instance }) => powerOffIfThere(services.context.driver, instance),
  destroy: async ({ services, instance, request }) => {
    await demand(services.context, STILL_OFFLOADED, request);
    await services.context.driver.destroy(instance, destroyOptions(true));
  },
  release: async ({ services, instance, request }) => {
    const { uuid } = instance;
    const options = { force: true, requestId: request.requestId };
    const released = await insist(services.context, async () => {
      await demand(services.context, STILL_OFFLOADED, request);
      return await services.context.placement.deleteAllocation(uuid, options);
    });
    if (released === null) {
      throw new AllocationDeleteFailed(uuid, "Placement cannot be reached; offload the instance again");
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

/** What the instance's system metadata says of its shelving. */
export function shelvedMark({ context }: OperationServices, instance: Instance, imageId?: string) {
  return {
    systemMetadata: {
      ...instance.systemMetadata,
      shelved_at: String(context.runtime.clock.now()),
      shelved_host: context.host,
      ...(imageId === undefined ? {} : { shelved_image_id: imageId }),
    },
  };
}
