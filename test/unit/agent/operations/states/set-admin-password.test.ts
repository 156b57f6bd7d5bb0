import { describe, expect, test } from "vitest";
import * as virt from "../../../../../src/virt/errors.js";
import { FlowStage, REQUEST, VM } from "../../support/flow-stage.js";

const METHOD = "set_admin_password";

function stageOf(instance: ConstructorParameters<typeof FlowStage>[0] = {}): FlowStage {
  const stage = new FlowStage({ instance: { taskState: "updating_password" }, ...instance });
  stage.replies["driver.powerState"] = 1;
  return stage;
}

describe("6.6 password", () => {
  test("the driver sets it, and the task ends", async () => {
    const stage = stageOf();
    expect(await stage.run(METHOD, { newPass: "secret" })).toBeNull();
    const changes = { powerState: 1, taskState: null };
    const ours = { expectedTaskState: ["updating_password"], expectedHost: "here" };
    expect(stage.did).toEqual([
      ["driver.setAdminPassword", VM(), "secret"],
      ["instance_save", { uuid: "vm", changes, ...ours }],
    ]);
    expect(stage.events).toEqual(["compute_set_admin_password", "Success"]);
    expect(stage.steps).toEqual([`${METHOD}.set_password`, `${METHOD}.record`]);
  });

  test.each([
    [new virt.NotImplemented("no"), "NotImplementedError", "no"],
    [new virt.SetAdminPasswdNotSupported("never"), "SetAdminPasswdNotSupported", "never"],
    [new virt.InstanceAgentNotEnabled("off"), "InstanceAgentNotEnabled", "off"],
    [
      new Error("cannot set secret"),
      "InstancePasswordSetFailed",
      "Failed to set admin password on vm because error setting admin password",
    ],
  ])("%o: the caller hears %o, nobody the password, and the task ends", async (error, kind, message) => {
    const stage = stageOf();
    stage.replies["driver.setAdminPassword"] = error;
    const failure = await stage.failure(METHOD, { newPass: "secret" });
    expect(failure).toMatchObject({ code: kind });
    expect(failure).toMatchObject({ message });
    expect(stage.did.slice(1)).toEqual([
      ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }],
      ["instance_add_fault", expect.objectContaining({ message })],
    ]);
    expect(JSON.stringify([stage.argumentsOf("instance_add_fault"), stage.runtime.logs])).not.toContain("secret");
  });

  test("the driver is not called for a guest that does not run", async () => {
    const stage = stageOf();
    stage.replies["driver.powerState"] = 4;
    expect(await stage.failure(METHOD, { newPass: "secret" })).toMatchObject({
      message: "Failed to set admin password on vm because instance vm is not running",
    });
    expect(stage.calls).not.toContain("driver.setAdminPassword");
  });

  test("an instance that has moved, or whose request was given up, keeps its password", async () => {
    for (const instance of [{ host: "there", taskState: "updating_password" }, { taskState: null }] as const) {
      const stage = stageOf({ instance });
      expect(await stage.failure(METHOD, { newPass: "secret" })).toMatchObject({ code: "UnexpectedTaskState" });
      expect(stage.calls).not.toContain("driver.setAdminPassword");
    }
  });
});
