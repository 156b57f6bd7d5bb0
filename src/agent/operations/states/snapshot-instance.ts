import { isConductorError } from "../../../conductor-client/errors.js";
import type { TaskState } from "../../../records/index.js";
import type { SnapshotOptions, SnapshotStage } from "../../../virt/types.js";
import type { AdmissionRejection } from "../flow/admission.js";
import type { AdmittedFlow, Call, OperationServices } from "../flow/contract.js";
import { attempt, mustNotUndo } from "../flow/error-wrappers.js";
import { guestFlow } from "../flow/step-list.js";

/** The task states of an instance while its driver creates an image of it. */
export type SnapshotStages = Readonly<Record<SnapshotStage, { readonly task: TaskState; readonly from: TaskState }>>;

type SnapshotCall = Pick<Call<"snapshot_instance" | "shelve_instance">, "services" | "request">;

const STAGES: SnapshotStages = {
  image_pending_upload: { task: "image_pending_upload", from: "image_snapshot" },
  image_uploading: { task: "image_uploading", from: "image_pending_upload" },
};

const FLOW = guestFlow("snapshot_instance", {
  begin: async (progress) => {
    const { conductor, host } = progress.services;
    progress.instance = await conductor.call("instance_save", {
      uuid: progress.instance.uuid,
      changes: { taskState: "image_snapshot" },
      expectedTaskState: ["image_snapshot_pending"],
      expectedHost: host,
    });
  },
  snapshot: async ({ services, instance, request: { imageId } }) => {
    await services.driver.snapshot(instance, imageId, {
      updateTaskState: updateTaskState(services, instance.uuid, STAGES),
    });
  },
  record: async (progress) => {
    const { conductor, driver } = progress.services;
    progress.instance = await conductor.call("instance_save", {
      uuid: progress.instance.uuid,
      changes: { taskState: null, powerState: await driver.powerState(progress.instance) },
      expectedTaskState: ["image_uploading"],
    });
  },
});

/** Spec 6.6 "snapshot". If it fails, the image is deleted; a complete image of a server that is being deleted stays. */
export const SNAPSHOT_INSTANCE: AdmittedFlow<"snapshot_instance"> = {
  ...FLOW,
  run: async (call, found) => {
    try {
      await FLOW.run(call, found);
    } catch (error) {
      if (!mustNotUndo(error)) {
        await deleteSnapshotImage(call, { onlyUnfinished: isConductorError(error, "UnexpectedDeletingTaskState") });
      }
      throw error;
    }
  },
  onRejected: deleteRejectedImage,
};

/** Creates the callback; it rejects if the instance has another task state or host by then. */
export function updateTaskState(
  services: OperationServices,
  uuid: string,
  stages: SnapshotStages,
): SnapshotOptions["updateTaskState"] {
  return async (stage) => {
    const { task, from } = stages[stage];
    await services.conductor.call("instance_save", {
      uuid,
      changes: { taskState: task },
      expectedTaskState: [from],
      expectedHost: services.host,
    });
  };
}

/**
 * Deletes the image that the API created for a snapshot that failed: nothing else would upload its bytes, and it would
 * stay `queued`. Logs a failure.
 */
export async function deleteSnapshotImage(
  { services, request: { instanceUuid, imageId } }: SnapshotCall,
  { onlyUnfinished = false }: { readonly onlyUnfinished?: boolean } = {},
): Promise<void> {
  await attempt(services, instanceUuid, `delete the image ${imageId} of a failed snapshot`, () =>
    onlyUnfinished ? services.images.removeUnfinished(imageId) : services.images.remove(imageId),
  );
}

/**
 * Deletes the image of a rejected message, unless it is complete: an earlier delivery of the message may have finished
 * it. Leaves the image of a shelved server.
 */
export async function deleteRejectedImage(call: SnapshotCall, { found }: AdmissionRejection): Promise<void> {
  if (found?.instance.systemMetadata.shelved_image_id !== call.request.imageId) {
    await deleteSnapshotImage(call, { onlyUnfinished: true });
  }
}
