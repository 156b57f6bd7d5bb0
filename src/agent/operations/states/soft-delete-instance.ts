import { holdsTask } from "../../../records/index.js";
import type { AdmissionRejection } from "../admission/admission.js";
import { endSupersededMove } from "../cold-move/end-superseded.js";
import type { AdmittedFlow, Call, RequestOf } from "../contract.js";
import { errorWhileSoftDeleting } from "../flow/error-when-superseded.js";
import { attempt } from "../flow/error-wrappers.js";
import { type GuestProgress, guestFlow } from "../flow/guest-flow.js";
import { powerOffIfThere } from "./power-off-if-there.js";
import { record } from "./state-changes.js";

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
