import { AllocationDeleteFailed } from "../../../placement-client/errors.js";
import type { Instance } from "../../../records/index.js";
import type { AgentContext } from "../../context.js";
import type { Found } from "../admission/admission.js";
import type { AdmittedFlow, Call, OperationServices } from "../contract.js";
import { addFault, attempt, isLeaseLost, withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { insist } from "../flow/insist.js";
import { runSteps, stepList } from "../flow/step-list.js";

interface DeleteProgress {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly requestId: string;
  /** No guest is left, and perhaps nothing is held: there is no server that its user could go on with. */
  gone: boolean;
}

/** The order is V23's. */
const STEPS = stepList<DeleteProgress>("terminate_instance", {
  // An instance without a host has no guest.
  destroy: async ({ services, instance }) => {
    if (instance.host !== null) {
      await services.context.driver.destroy(instance, destroyOptions(true));
    }
  },
  record: async ({ services, instance }) => {
    const terminatedAt = services.context.runtime.clock.now();
    const changes = { vmState: "deleted", taskState: null, powerState: 0, terminatedAt } as const;
    await services.tracker.saveInstance(instance, changes);
  },
  release: async (progress) => {
    const { services, instance, requestId } = progress;
    const isRemoved = await removeAllocations(services, instance.uuid, requestId);
    progress.gone = instance.host !== null;
    if (!isRemoved) {
      throw new AllocationDeleteFailed(
        instance.uuid,
        `Placement cannot be reached; ${progress.gone ? "they go with the instance when it is back" : "delete the instance again"}`,
      );
    }
  },
  destroy_row: async ({ services, instance }) => {
    await services.context.conductor.call("instance_destroy", { uuid: instance.uuid });
  },
});

/**
 * Spec 6.2 "host up", in the order of V23: guest gone → vm deleted → usage dropped → allocations gone → row destroyed.
 * Every step may be repeated, so a delete that died is run again from the start; also the ones that a restart finds in task
 * `deleting`. The conductor looks for an instance that has moved.
 */
export const TERMINATE_INSTANCE: AdmittedFlow<"terminate_instance"> = {
  steps: [STEPS],
  handOn: ({ services, request: { instanceUuid, requestId } }) =>
    services.context.conductor.call("delete_instance", { instanceUuid }, { requestId }),
  run: terminate,
};

/**
 * @throws what the failed step threw; the instance is then in error and may be deleted again. Where only its row is left, or that cannot
 * be told as Placement does not answer, it stays deleted, as after a crash, and `interrupted_requests` takes that away: in error it
 * could be rebuilt, and would hold nothing.
 */
async function terminate(
  { services, request: { requestId }, event }: Call<"terminate_instance">,
  { instance }: Found,
): Promise<void> {
  const progress: DeleteProgress = { services, instance, requestId, gone: false };
  await withActionEvent(services.context, event, async () => {
    try {
      await runSteps(services, STEPS, progress);
    } catch (error) {
      if (progress.gone) {
        services.interrupted.add({ instanceUuid: instance.uuid, requestId });
      } else if (!isLeaseLost(error)) {
        await deleteFailed(services, instance, error);
      }
      throw error;
    }
  });
}

/** A user's delete does not ask for a consumer generation (bug 1836754); a deferred one does (spec 5.5). */
const forcesDelete = ({ config }: AgentContext): boolean => config.defaults.reclaimInstanceInterval <= 0;

/** False: Placement does not answer, and may have deleted them all the same. @throws AllocationDeleteFailed when it refuses */
async function removeAllocations({ context }: OperationServices, uuid: string, requestId: string): Promise<boolean> {
  const options = { force: forcesDelete(context), requestId };
  return (await insist(context, () => context.placement.deleteAllocation(uuid, options))) !== null;
}

/** The row stays and counts again; the user may retry. */
async function deleteFailed(services: OperationServices, instance: Instance, error: unknown): Promise<void> {
  await attempt(services.context, instance.uuid, "set the instance to error", () =>
    services.tracker.saveInstance(instance, { vmState: "error", taskState: null }),
  );
  await addFault(services.context, instance.uuid, error);
}

/**
 * Spec 2.6: a delete that died after "vm deleted". Row first, as the guest and the user's wish are gone for good.
 * @throws what the failed step threw
 */
export async function completePartialDeletion(
  services: OperationServices,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { context, tracker } = services;
  const destroyed = await context.conductor.call("instance_destroy", { uuid: instance.uuid });
  if (destroyed.node !== null) {
    await tracker.updateUsage(destroyed, destroyed.node);
  }
  await context.placement.deleteAllocation(instance.uuid, { force: forcesDelete(context), requestId });
}
