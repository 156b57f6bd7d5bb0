import { AllocationDeleteFailed } from "../../../placement-client/errors.js";
import { holdsTask, type Instance } from "../../../records/index.js";
import type { AgentContext } from "../../context.js";
import { endSupersededMove } from "../cold-move/leftover-moves.js";
import type { AdmissionRejection, Found } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt, errorWhileSoftDeleting, isLeaseLost, withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { insist } from "../flow/release-allocations.js";
import { type GuestProgress, guestFlow, runSteps, stepList } from "../flow/step-list.js";
import { powerOffIfThere, record } from "./power.js";

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

type Progress = GuestProgress<RequestOf<"soft_delete_instance">>;

/**
 * Spec 6.2 "soft delete", by power. It may have overtaken a move that had destroyed the guest here: there is nothing to shut down
 * then, and the delete is wanted all the same.
 */
export const SOFT_DELETE_INSTANCE: AdmittedFlow<"soft_delete_instance"> = {
  ...guestFlow(
    "soft_delete_instance",
    {
      act: async (progress) => {
        // First: a guest that the move has set aside is brought back, and is here again if it cannot be shut down.
        await endSuperseded(progress);
        await powerOffIfThere(progress.services.context.driver, progress.instance);
      },
      record: ({ services, instance }) => record(services, instance, "soft-delete", "soft-deleting"),
    },
    { failed },
  ),
  onRejected: deleteIfNowhere,
};

function endSuperseded({ services, instance, request: { requestId } }: Progress): Promise<void> {
  return endSupersededMove(services, instance, requestId);
}

/**
 * The server is nobody's now, and what it was in the middle of will find that its task_state is gone: that is ended here, and
 * without a guest it does not look usable.
 */
async function failed(progress: Progress): Promise<void> {
  const { services, instance } = progress;
  const { context } = services;
  await attempt(context, instance.uuid, "end the move that the soft delete has overtaken", () =>
    endSuperseded(progress),
  );
  await attempt(context, instance.uuid, "see whether the soft delete leaves a guest", async () => {
    if (!(await context.driver.instanceExists(instance))) {
      await errorWhileSoftDeleting(services, instance);
    }
  });
}

/** An unshelve that it had overtaken has failed since: a server on no host is not deleted softly (spec 6.2), but at once. */
async function deleteIfNowhere(
  { services, request: { instanceUuid, requestId } }: Call<"soft_delete_instance">,
  { kind, found }: AdmissionRejection,
): Promise<void> {
  if (kind === "ended" && found?.instance.host === null && holdsTask(found.instance, requestId, ["soft-deleting"])) {
    await services.context.conductor.call("delete_instance", { instanceUuid }, { requestId });
  }
}
