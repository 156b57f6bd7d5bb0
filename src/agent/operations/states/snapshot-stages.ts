import type { TaskState } from "../../../records/index.js";
import type { SnapshotOptions, SnapshotStage } from "../../../virt/types.js";
import type { AdmissionRejection } from "../admission/admission.js";
import type { Call, OperationServices } from "../contract.js";
import { attempt } from "../flow/error-wrappers.js";

/** The task states through which an instance goes while its driver makes an image of it. */
export type SnapshotStages = Readonly<Record<SnapshotStage, { readonly task: TaskState; readonly from: TaskState }>>;

/** Rejects when the instance has another task state by then, or another host. */
export function updateTaskState(
  { context }: OperationServices,
  uuid: string,
  stages: SnapshotStages,
): SnapshotOptions["updateTaskState"] {
  return async (stage) => {
    const { task, from } = stages[stage];
    await context.conductor.call("instance_save", {
      uuid,
      changes: { taskState: task },
      expectedTaskState: [from],
      expectedHost: context.host,
    });
  };
}

type SnapshotCall = Pick<Call<"snapshot_instance" | "shelve_instance">, "services" | "request">;

/**
 * Deletes the image that the API created for a snapshot which will not be made: nobody else would send its bytes, and it would
 * stay `queued`. A failure is logged.
 */
export async function deleteSnapshotImage(
  { services: { context }, request: { instanceUuid, imageId } }: SnapshotCall,
  { onlyUnfinished = false }: { readonly onlyUnfinished?: boolean } = {},
): Promise<void> {
  await attempt(context, instanceUuid, `delete the image ${imageId} of a failed snapshot`, () =>
    onlyUnfinished ? context.images.removeUnfinished(imageId) : context.images.remove(imageId),
  );
}

/**
 * Deletes the image of a message that is not admitted, unless the image has its bytes: an earlier delivery of the message may
 * have finished it. An image that the shelved server names stays.
 */
export async function deleteRejectedImage(call: SnapshotCall, { found }: AdmissionRejection): Promise<void> {
  if (found?.instance.systemMetadata.shelved_image_id !== call.request.imageId) {
    await deleteSnapshotImage(call, { onlyUnfinished: true });
  }
}
