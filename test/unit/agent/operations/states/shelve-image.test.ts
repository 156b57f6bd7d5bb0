import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { Instance } from "../../../../../src/records/index.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { FlowStage, REQUEST } from "../../support/flow-stage.js";

function shelving(instance: Partial<Instance> = {}): FlowStage {
  return new FlowStage({ instance: { taskState: "shelving", ...instance } });
}

const shelve = (stage: FlowStage) => stage.failure("shelve_instance", { imageId: "snapshot" });

describe('6.6 "shelve", the image', () => {
  test("the image is deleted when the driver makes no snapshot, so that no queued image is left", async () => {
    const stage = shelving();
    stage.replies["driver.snapshot"] = new NotImplemented("the driver has no snapshot");
    expect(await shelve(stage)).toBeInstanceOf(NotImplemented);
    expect(stage.did.slice(2)).toEqual([
      ["images.remove", "snapshot"],
      ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }],
      ["instance_add_fault", expect.anything()],
    ]);
  });

  test("the image stays when only the offload fails: the server is shelved with it", async () => {
    const stage = shelving();
    stage.replies["driver.destroy"] = new Error("broken");
    expect(await shelve(stage)).toMatchObject({ message: "broken" });
    expect(stage.calls).not.toContain("images.remove");
  });

  test("a failed shelve that may have been stored keeps the image", async () => {
    const stage = shelving();
    stage.replies["tracker.saveInstance"] = new ConductorError("MessagingTimeout", "no answer");
    expect(await shelve(stage)).toMatchObject({ code: "MessagingTimeout" });
    expect(stage.calls).not.toContain("images.remove");
  });

  test("a rejected message deletes its unfinished image, unless the server is shelved with that image", async () => {
    const other = shelving({ taskState: null });
    await shelve(other);
    expect(other.did).toEqual([["images.removeUnfinished", "snapshot"]]);
    const systemMetadata = { shelved_image_id: "snapshot" };
    const repeated = shelving({ taskState: null, vmState: "shelved", systemMetadata });
    await shelve(repeated);
    expect(repeated.did).toEqual([]);
  });
});
