import { createAllocationError } from "../../../placement-client/errors.js";
import { holdsTask, type Instance } from "../../../records/index.js";
import { GuestNotFound } from "../../../virt/errors.js";
import type { AgentContext } from "../../context.js";
import { ignore } from "../../ignore-errors.js";
import { endSupersededMove } from "../cold-move/leftover-moves.js";
import type { AdmissionRejection, Found } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices, RequestOf } from "../flow/contract.js";
import { addFault, attempt, errorWhileSoftDeleting, isLeaseLost, withActionEvent } from "../flow/error-wrappers.js";
import { destroyOptions } from "../flow/guest-options.js";
import { insist } from "../flow/release-allocations.js";
import { type GuestProgress, guestFlow, runSteps, stepList } from "../flow/step-list.js";
import { record } from "./power.js";

interface DeleteProgress {
  readonly services: OperationServices;
  readonly instance: Instance;
  readonly requestId: string;
  /** True once the guest and perhaps the allocations are gone: the server is no longer usable. */
  gone: boolean;
}

/** The order follows V23. */
const STEPS = stepList<DeleteProgress>("terminate_instance", {
  // An instance without a host has no guest.
  destroy: async ({ services, instance }) => {
    if (instance.host !== null) {
      await services.driver.destroy(instance, await destroyOptions(services, instance, true));
    }
  },
  release_volumes: ({ services, instance }) => services.volumes.release(instance),
  record: async ({ services, instance }) => {
    const terminatedAt = services.runtime.clock.now();
    const changes = { vmState: "deleted", taskState: null, powerState: 0, terminatedAt } as const;
    await services.tracker.saveInstance(instance, changes);
  },
  release: async (progress) => {
    const { services, instance, requestId } = progress;
    const options = { force: forcesDelete(services), requestId };
    const removed = await insist(services, () => services.placement.deleteAllocation(instance.uuid, options));
    progress.gone = instance.host !== null;
    // Placement may have deleted them nevertheless.
    if (removed === null) {
      throw createAllocationError(
        "AllocationDeleteFailed",
        instance.uuid,
        `Placement cannot be reached; ${progress.gone ? "they are removed with the instance when it is back" : "delete the instance again"}`,
      );
    }
  },
  destroy_row: async ({ services, instance }) => {
    await services.conductor.call("instance_destroy", { uuid: instance.uuid });
  },
});

/**
 * Spec 6.2 "host up", in the order of V23: guest gone → vm deleted → usage dropped → allocations gone → row destroyed.
 * Every step may be repeated, so a killed delete runs again from the start; also after a restart, which finds it in
 * task `deleting`. For an instance that has moved, the conductor forwards the delete.
 */
export const TERMINATE_INSTANCE: AdmittedFlow<"terminate_instance"> = {
  steps: [STEPS],
  handOn: ({ services, request: { instanceUuid, requestId } }) =>
    services.conductor.call("delete_instance", { instanceUuid }, { requestId }),
  run: terminate,
};

/**
 * @throws the failed step's error; the instance is then in error and may be deleted again. If only its row may be left
 * because Placement does not respond, it stays deleted, as after a crash, and `interrupted_requests` removes the row.
 * In error it could be rebuilt without allocations.
 */
async function terminate(
  { services, request: { requestId }, event }: Call<"terminate_instance">,
  { instance }: Found,
): Promise<void> {
  const progress: DeleteProgress = { services, instance, requestId, gone: false };
  await withActionEvent(services, event, async () => {
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

/** A user's delete does not check the consumer generation (bug 1836754); a deferred one does (spec 5.5). */
const forcesDelete = ({ config }: AgentContext): boolean => config.defaults.reclaimInstanceInterval <= 0;

/** Leaves the row, which counts again; the user may retry. */
async function deleteFailed(services: OperationServices, instance: Instance, error: unknown): Promise<void> {
  await attempt(services, instance.uuid, "set the instance to error", () =>
    services.tracker.saveInstance(instance, { vmState: "error", taskState: null }),
  );
  await addFault(services, instance.uuid, error);
}

/**
 * Spec 2.6: completes a delete that died after "vm deleted". Destroys the row first: the guest is gone for good, and
 * the user wants it deleted.
 * @throws the failed step's error
 */
export async function completePartialDeletion(
  services: OperationServices,
  instance: Instance,
  requestId: string,
): Promise<void> {
  const { tracker } = services;
  const destroyed = await services.conductor.call("instance_destroy", { uuid: instance.uuid });
  if (destroyed.node !== null) {
    await tracker.updateUsage(destroyed, destroyed.node);
  }
  await services.placement.deleteAllocation(instance.uuid, { force: forcesDelete(services), requestId });
}

type Progress = GuestProgress<RequestOf<"soft_delete_instance">>;

/**
 * Spec 6.2 "soft delete", by power. If it has superseded a move that had destroyed the guest here, there is nothing to
 * shut down, and the delete continues.
 */
export const SOFT_DELETE_INSTANCE: AdmittedFlow<"soft_delete_instance"> = {
  ...guestFlow(
    "soft_delete_instance",
    {
      act: async (progress) => {
        // First, so that a guest that the move has set aside is restored even if it cannot be shut down.
        await endSuperseded(progress);
        await progress.services.driver.powerOff(progress.instance).catch(ignore(GuestNotFound));
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

/** Ends the superseded operation. An instance without a guest is set to error, so that it does not appear usable. */
async function failed(progress: Progress): Promise<void> {
  const { services, instance } = progress;
  await attempt(services, instance.uuid, "end the move that the soft delete has superseded", () =>
    endSuperseded(progress),
  );
  await attempt(services, instance.uuid, "check whether the soft delete leaves a guest", async () => {
    if (!(await services.driver.instanceExists(instance))) {
      await errorWhileSoftDeleting(services, instance);
    }
  });
}

/** Deletes an instance whose superseded unshelve has failed: a server without a host is not soft-deleted (6.2). */
async function deleteIfNowhere(
  { services, request: { instanceUuid, requestId } }: Call<"soft_delete_instance">,
  { kind, found }: AdmissionRejection,
): Promise<void> {
  if (kind === "ended" && found?.instance.host === null && holdsTask(found.instance, requestId, ["soft-deleting"])) {
    await services.conductor.call("delete_instance", { instanceUuid }, { requestId });
  }
}
