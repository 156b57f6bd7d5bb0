import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { SnapshotOptions } from "../../../../../src/virt/types.js";
import { FlowStage, REQUEST, VM } from "../../support/flow-stage.js";

function snapshotting(): FlowStage {
  const stage = new FlowStage({ instance: { taskState: "image_snapshot_pending" } });
  stage.replies["driver.snapshot"] = async (_: unknown, _id: string, { updateTaskState }: SnapshotOptions) => {
    await updateTaskState("image_pending_upload");
    await updateTaskState("image_uploading");
  };
  return stage;
}

const snapshot = (stage: FlowStage) => stage.failure("snapshot_instance", { imageId: "image" });

function saved(to: string | null, from: string, more: object = { expectedHost: "here" }) {
  return ["instance_save", { uuid: "vm", changes: { taskState: to }, expectedTaskState: [from], ...more }];
}

describe('6.6 "snapshot"', () => {
  test("goes through its stages, and the server is at rest again", async () => {
    const stage = snapshotting();
    expect(await snapshot(stage)).toBeNull();
    expect(stage.did).toEqual([
      saved("image_snapshot", "image_snapshot_pending"),
      ["driver.snapshot", VM({ taskState: "image_snapshot" }), "image", { updateTaskState: expect.any(Function) }],
      saved("image_pending_upload", "image_snapshot"),
      saved("image_uploading", "image_pending_upload"),
      [
        "instance_save",
        { uuid: "vm", changes: { taskState: null, powerState: 1 }, expectedTaskState: ["image_uploading"] },
      ],
    ]);
    expect(stage.events).toEqual(["compute_snapshot_instance", "Success"]);
  });

  test("that fails leaves no image, and the server at rest with a fault", async () => {
    const stage = snapshotting();
    stage.replies["driver.snapshot"] = new Error("the disk failed");
    expect(await snapshot(stage)).toMatchObject({ message: "the disk failed" });
    expect(stage.did.slice(2)).toEqual([
      ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }],
      ["instance_add_fault", expect.objectContaining({ message: "Error" })],
      ["images.remove", "image"],
    ]);
  });

  test("of a server that is deleted meanwhile leaves no half image", async () => {
    const stage = snapshotting();
    stage.replies["driver.snapshot"] = new ConductorError("UnexpectedDeletingTaskState", "deleting");
    await snapshot(stage);
    expect(stage.did.at(-1)).toEqual(["images.removeUnfinished", "image"]);
  });

  test("whose message is rejected leaves no unfinished image", async () => {
    const stage = new FlowStage({ instance: { taskState: "deleting" } });
    await snapshot(stage);
    expect(stage.did).toEqual([["images.removeUnfinished", "image"]]);
  });
});
