import { UnexpectedDeletingTaskState } from "../../../conductor-client/errors.js";
import type { AdmittedFlow } from "../contract.js";
import { mustNotUndo } from "../flow/error-wrappers.js";
import { guestFlow } from "../flow/guest-flow.js";
import { deleteRejectedImage, deleteSnapshotImage, type SnapshotStages, updateTaskState } from "./snapshot-stages.js";

const STAGES: SnapshotStages = {
  image_pending_upload: { task: "image_pending_upload", from: "image_snapshot" },
  image_uploading: { task: "image_uploading", from: "image_pending_upload" },
};

const FLOW = guestFlow("snapshot_instance", {
  begin: async (progress) => {
    const { conductor, host } = progress.services.context;
    progress.instance = await conductor.call("instance_save", {
      uuid: progress.instance.uuid,
      changes: { taskState: "image_snapshot" },
      expectedTaskState: ["image_snapshot_pending"],
      expectedHost: host,
    });
  },
  snapshot: async ({ services, instance, request: { imageId } }) => {
    await services.context.driver.snapshot(instance, imageId, {
      updateTaskState: updateTaskState(services, instance.uuid, STAGES),
    });
  },
  record: async (progress) => {
    const { conductor, driver } = progress.services.context;
    progress.instance = await conductor.call("instance_save", {
      uuid: progress.instance.uuid,
      changes: { taskState: null, powerState: await driver.powerState(progress.instance) },
      expectedTaskState: ["image_uploading"],
    });
  },
});

/** Spec 6.6 "snapshot". When it fails, the image is deleted; the complete image of a server that is being deleted stays. */
export const SNAPSHOT_INSTANCE: AdmittedFlow<"snapshot_instance"> = {
  ...FLOW,
  run: async (call, found) => {
    try {
      await FLOW.run(call, found);
    } catch (error) {
      if (!mustNotUndo(error)) {
        await deleteSnapshotImage(call, { onlyUnfinished: error instanceof UnexpectedDeletingTaskState });
      }
      throw error;
    }
  },
  onRejected: deleteRejectedImage,
};
