import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { HostEpochOutdated } from "../../../../../src/virt/errors.js";
import { DISKS, FlowStage, NOW, REQUEST, type StageOptions, VM } from "../../support/flow-stage.js";

function deleting(options: StageOptions = {}) {
  return new FlowStage({ ...options, instance: { taskState: "deleting", ...options.instance } });
}

const terminate = (stage: FlowStage) => stage.failure("terminate_instance", {});

const DESTROY = ["driver.destroy", VM(), { network: [], blockDevices: DISKS, destroyDisks: true }];
const RECORD = [
  "tracker.saveInstance",
  VM(),
  { vmState: "deleted", taskState: null, powerState: 0, terminatedAt: NOW },
];
const release = (force: boolean) => ["placement.deleteAllocation", "vm", { force, requestId: REQUEST }];
const ROW = ["instance_destroy", { uuid: "vm" }];

describe('6.2 "host up"', () => {
  test("V23 guest, state, allocations, row", async () => {
    const stage = deleting();
    expect(await terminate(stage)).toBeNull();
    expect(stage.did).toEqual([DESTROY, RECORD, release(true), ROW]);
    expect(stage.events).toEqual(["compute_terminate_instance", "Success"]);
    expect(stage.steps).toEqual([
      "terminate_instance.destroy",
      "terminate_instance.release_volumes",
      "terminate_instance.record",
      "terminate_instance.release",
      "terminate_instance.destroy_row",
    ]);
  });
  test("OPT its row is not destroyed: it stays deleted, as nothing is held that it could be rebuilt with, and is looked at again", async () => {
    const stage = deleting();
    stage.replies.instance_destroy = new Error("no disk");
    expect(await terminate(stage)).toMatchObject({ message: "no disk" });
    expect(stage.did).toEqual([DESTROY, RECORD, release(true), ROW]);
    expect(stage.events).toEqual(["compute_terminate_instance", "Error"]);
    expect(stage.operations.interrupted.all).toEqual([{ instanceUuid: "vm", requestId: REQUEST }]);
  });

  test("the row of one that no host has is not destroyed: it is in error, and its user asks again", async () => {
    const stage = deleting({ instance: { host: null } });
    stage.replies.instance_destroy = new Error("no disk");
    await terminate(stage);
    expect(stage.did).toContainEqual([
      "tracker.saveInstance",
      expect.anything(),
      { vmState: "error", taskState: null },
    ]);
  });
  test("without the host's lease nothing is written", async () => {
    const stage = deleting();
    stage.replies["driver.destroy"] = new HostEpochOutdated("another agent");
    expect(await terminate(stage)).toBeInstanceOf(HostEpochOutdated);
    expect(stage.calls).toEqual(["driver.destroy"]);
  });

  test("a row that is gone meanwhile gets no state, and the error is still reported", async () => {
    const stage = deleting();
    stage.replies["tracker.saveInstance"] = new ConductorError("InstanceNotFound", "gone");
    expect(await terminate(stage)).toMatchObject({ code: "InstanceNotFound" });
    expect(stage.logged("could not set the instance to error")).toBe(0);
  });
});

describe("2.6 a delete that died after the guest was gone", () => {
  const complete = async (stage: FlowStage) => {
    if (stage.instance) {
      await stage.operations.completePartialDeletion(stage.instance);
    }
  };

  test.each([
    [0, true],
    [60, false],
  ])("row, usage, allocations (reclaim_instance_interval %i)", async (reclaimInstanceInterval, force) => {
    const stage = deleting({ config: { reclaimInstanceInterval } });
    await complete(stage);
    expect(stage.did).toEqual([
      ROW,
      ["tracker.updateUsage", VM({ deleted: 1 }), "node"],
      ["placement.deleteAllocation", "vm", { force, requestId: expect.stringMatching(/^req-/) }],
    ]);
  });

  test("one without a node counts nowhere", async () => {
    const stage = deleting({ instance: { node: null } });
    await complete(stage);
    expect(stage.calls).toEqual(["instance_destroy", "placement.deleteAllocation"]);
  });
});
