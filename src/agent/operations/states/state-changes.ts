import { holdsTask, type Instance, type TaskState, type VmState } from "../../../records/index.js";
import type { DriverHost } from "../../../virt/driver-host.js";
import type { Refusal } from "../admission/admission.js";
import { endOvertakenMove } from "../cold-move/end-overtaken.js";
import type { AdmittedFlow, Call, InstanceMethod, OperationServices } from "../contract.js";
import { errorWithoutGuest } from "../flow/error-under-soft-delete.js";
import { guestFlow } from "../flow/guest-flow.js";
import { powerOffIfThere } from "./power-off-if-there.js";

/** One thing that the driver does, and the vm_state that the instance then has; its allocations stay (spec V18). */
function stateChange<M extends InstanceMethod>(
  method: M,
  task: TaskState,
  vmState: VmState,
  act: (driver: DriverHost, instance: Instance) => Promise<void>,
) {
  return guestFlow(method, {
    act: ({ services, instance }) => act(services.context.driver, instance),
    record: ({ services, instance }) => record(services, instance, vmState, task),
  });
}

export const PAUSE_INSTANCE = stateChange("pause_instance", "pausing", "paused", (driver, instance) =>
  driver.pause(instance),
);

export const UNPAUSE_INSTANCE = stateChange("unpause_instance", "unpausing", "active", (driver, instance) =>
  driver.unpause(instance),
);

export const SUSPEND_INSTANCE = stateChange("suspend_instance", "suspending", "suspended", (driver, instance) =>
  driver.suspend(instance),
);

export const RESUME_INSTANCE = stateChange("resume_instance", "resuming", "active", (driver, instance) =>
  driver.resume(instance),
);

export const UNRESCUE_INSTANCE = stateChange("unrescue_instance", "unrescuing", "active", (driver, instance) =>
  driver.unrescue(instance),
);

// What the contract has no method for is done by power, as by Nova's drivers without one. A soft delete may have overtaken a move
// that had destroyed the guest here: there is nothing to shut down then, and the delete is wanted all the same.
export const SOFT_DELETE_INSTANCE: AdmittedFlow<"soft_delete_instance"> = {
  ...guestFlow(
    "soft_delete_instance",
    {
      act: async ({ services, instance, request: { requestId } }) => {
        // First: a guest that the move has set aside is brought back, and is here again if it cannot be shut down.
        await endOvertakenMove(services, instance, requestId);
        await powerOffIfThere(services.context.driver, instance);
      },
      record: ({ services, instance }) => record(services, instance, "soft-delete", "soft-deleting"),
    },
    { failed: ({ services, instance }) => errorWithoutGuest(services, instance) },
  ),
  refused: deleteIfNowhere,
};

/** An unshelve that it had overtaken has failed since: a server on no host is not deleted softly (spec 6.2), but at once. */
async function deleteIfNowhere(
  { services, request: { instanceUuid, requestId } }: Call<"soft_delete_instance">,
  { kind, found }: Refusal,
): Promise<void> {
  if (kind === "ended" && found?.instance.host === null && holdsTask(found.instance, requestId, ["soft-deleting"])) {
    await services.context.conductor.call("delete_instance", { instanceUuid }, { requestId });
  }
}

export const RESTORE_INSTANCE = stateChange("restore_instance", "restoring", "active", (driver, instance) =>
  driver.powerOn(instance),
);

/** The row follows the guest. A start-up that finishes what was interrupted finds no task state any more. */
export async function record(
  { context, tracker }: OperationServices,
  instance: Instance,
  vmState: VmState,
  task: TaskState,
): Promise<void> {
  const powerState = await context.driver.powerState(instance);
  await tracker.saveInstance(instance, { vmState, powerState, taskState: null }, [task, null]);
}
