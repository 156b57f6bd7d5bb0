import { describe, expect, test } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { Instance } from "../../../../../src/records/index.js";
import { NotImplemented } from "../../../../../src/virt/errors.js";
import { FlowStage, REQUEST, VM } from "../../support/flow-stage.js";

/** Creates an instance without a task. */
function stageOf(instance: Partial<Instance> = {}): FlowStage {
  return new FlowStage({ instance: { vmState: "active", taskState: null, powerState: 1, ...instance } });
}

function update(stage: FlowStage, target: string | null): Promise<void> {
  return stage.operations.updatePower({ instanceUuid: "vm", requestId: REQUEST, target });
}

describe("6.6 power-update", () => {
  test.each([
    ["POWER_OFF", "active", 1, "stopped", 4],
    ["POWER_ON", "stopped", 4, "active", 1],
  ] as const)(
    "%s of an instance that is %s (%i): it is %s (%i), in one write",
    async (target, vmState, powerState, to, now) => {
      const stage = stageOf({ vmState, powerState });
      stage.replies["driver.powerState"] = now;
      await update(stage, target);
      const changes = { vmState: to, powerState: now, taskState: null };
      const expected = { expectedTaskState: [null], expectedVmState: [vmState], expectedHost: "here" };
      expect(stage.did).toEqual([
        ["driver.powerUpdateEvent", VM(), target],
        ["instance_save", { uuid: "vm", changes, ...expected }],
      ]);
      expect(stage.events).toEqual(["compute_power_update", "Success"]);
    },
  );

  test.each([
    ["POWER_OFF", { taskState: "rebooting" }],
    ["POWER_OFF", { vmState: "rescued" }],
    ["POWER_OFF", { powerState: 4 }],
    ["POWER_ON", {}],
    ["POWER_ON", { vmState: "stopped", powerState: 1 }],
    ["BLINK", {}],
    [null, {}],
  ] as const)("%s of an instance with %j changes nothing, and succeeds", async (target, instance) => {
    const stage = stageOf(instance);
    await update(stage, target);
    expect(stage.did).toEqual([]);
    expect(stage.events).toEqual(["compute_power_update", "Success"]);
    expect(stage.logged("is a no-op")).toBe(1);
  });

  test("an event that is older than the guest's last start changes nothing", async () => {
    const stage = stageOf();
    stage.replies["driver.powerState"] = 1;
    await update(stage, "POWER_OFF");
    expect(stage.calls).toEqual(["driver.powerUpdateEvent"]);
    expect(stage.events).toEqual(["compute_power_update", "Success"]);
    expect(stage.logged("is outdated")).toBe(1);
  });

  test("an instance on another host gets no event and no question to the driver", async () => {
    const stage = stageOf({ host: "there" });
    await update(stage, "POWER_OFF");
    expect(stage.did).toEqual([]);
    expect(stage.events).toEqual([]);
  });

  test.each([
    new ConductorError("UnexpectedTaskState", "stop"),
    new ConductorError("UnexpectedVmState", "error"),
    new ConductorError("ObjectActionError", "host changed"),
  ])("another request that comes first wins, and the event succeeds: %o", async (error) => {
    const stage = stageOf();
    stage.replies["driver.powerState"] = 4;
    stage.replies.instance_save = error;
    await update(stage, "POWER_OFF");
    expect(stage.events).toEqual(["compute_power_update", "Success"]);
    expect(stage.faults).toEqual([]);
  });

  test("a driver without the method fails the event with a fault, and the instance keeps its state", async () => {
    const stage = stageOf();
    stage.replies["driver.powerUpdateEvent"] = new NotImplemented("the driver does not implement powerUpdateEvent");
    await expect(update(stage, "POWER_OFF")).rejects.toThrow(NotImplemented);
    expect(stage.calls).toEqual(["driver.powerUpdateEvent", "instance_add_fault"]);
    expect(stage.events).toEqual(["compute_power_update", "Error"]);
  });
});
