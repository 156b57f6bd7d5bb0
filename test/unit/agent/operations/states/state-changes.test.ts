import { describe, expect, test } from "vitest";
import { HostLeaseLost } from "../../../../../src/agent/host-lease.js";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { GuestNotFound } from "../../../../../src/virt/errors.js";
import { FlowStage, IMAGE, REQUEST, VM } from "../../support/flow-stage.js";

const CHANGES = [
  ["pause_instance", "active", "pausing", "pause", "paused"],
  ["unpause_instance", "paused", "unpausing", "unpause", "active"],
  ["suspend_instance", "active", "suspending", "suspend", "suspended"],
  ["resume_instance", "suspended", "resuming", "resume", "active"],
  ["unrescue_instance", "rescued", "unrescuing", "unrescue", "active"],
  ["soft_delete_instance", "active", "soft-deleting", "powerOff", "soft-delete"],
  ["restore_instance", "soft-delete", "restoring", "powerOn", "active"],
] as const;

describe("V18 an operation that changes the state alone", () => {
  test.each(CHANGES)("%s of an instance that is %s (%s): %s, then %s", async (method, vmState, taskState, act, to) => {
    const stage = new FlowStage({ instance: { vmState, taskState } });
    stage.replies["driver.powerState"] = 3;
    await stage.run(method, {});
    const changes = { vmState: to, powerState: 3, taskState: null };
    expect(stage.did).toEqual([
      [`driver.${act}`, VM()],
      ["tracker.saveInstance", VM(), changes, [taskState, null]],
    ]);
    expect(stage.events).toEqual([`compute_${method}`, "Success"]);
    expect(stage.steps).toEqual([`${method}.act`, `${method}.record`]);
  });

  test.each(CHANGES)(
    "%s of an instance that is %s (%s) fails: no task any more, and a fault",
    async (method, vmState, taskState, act) => {
      const stage = new FlowStage({ instance: { vmState, taskState } });
      stage.replies[`driver.${act}`] = new Error("broken");
      stage.replies["driver.instanceExists"] = true;
      expect(await stage.failure(method, {})).toMatchObject({ message: "broken" });
      expect(stage.did.slice(1).filter(([what]) => what !== "driver.instanceExists")).toEqual([
        ["instance_save", { uuid: "vm", changes: { taskState: null }, ofRequest: REQUEST }],
        ["instance_add_fault", expect.objectContaining({ message: "Error" })],
      ]);
      expect(stage.events).toEqual([`compute_${method}`, "Error"]);
    },
  );

  test.each(CHANGES)("%s follows an instance that has moved (%s, %s)", async (method, vmState, taskState) => {
    const stage = new FlowStage({ instance: { vmState, taskState, host: "there" } });
    await stage.run(method, {});
    expect(stage.did).toEqual([[`cast ${method}`, "there", { instanceUuid: "vm", requestId: REQUEST }]]);
  });
});

describe("6.2 soft delete", () => {
  const nowhere = { host: null, vmState: "shelved_offloaded", taskState: "soft-deleting" } as const;
  const deleteAtOnce = ["delete_instance", { instanceUuid: "vm" }, { requestId: REQUEST }];

  test("a guest that is gone already is no failure", async () => {
    const stage = new FlowStage({ instance: { taskState: "soft-deleting" } });
    stage.replies["driver.powerOff"] = new GuestNotFound("gone");
    await stage.run("soft_delete_instance", {});
    expect(stage.instance?.vmState).toBe("soft-delete");
  });

  test("one that fails leaves no server that looks usable without its guest", async () => {
    const stage = new FlowStage({ instance: { taskState: "soft-deleting" } });
    stage.replies["driver.powerOff"] = new Error("broken");
    stage.replies["driver.instanceExists"] = false;
    await stage.failure("soft_delete_instance", {});
    expect(stage.instance).toMatchObject({ vmState: "error", taskState: null });
  });

  test.each([
    ["without the host's lease", new HostLeaseLost("here", "another agent has it")],
    ["without an answer of the conductor", new ConductorError("ConductorUnreachable", "away")],
  ])("one that fails %s leaves the move and the server as after a crash", async (_, error) => {
    const stage = new FlowStage({ instance: { taskState: "soft-deleting" } });
    stage.replies["driver.powerOff"] = error;
    await stage.failure("soft_delete_instance", {});
    expect(stage.argumentsOf("migrations_by_filters")).toHaveLength(1);
    expect(stage.argumentsOf("driver.instanceExists")).toEqual([]);
    expect(stage.argumentsOf("tracker.saveInstance")).toEqual([]);
  });

  test("an instance that no host has any more is deleted at once", async () => {
    const stage = new FlowStage({ instance: nowhere });
    await stage.run("soft_delete_instance", {});
    expect(stage.did).toEqual([deleteAtOnce]);
  });

  test.each([
    ["another request's", { taskRequestId: "req-theirs" }],
    ["at rest", { taskState: null }],
    ["in another task", { taskState: "spawning" }],
    ["deleted", { deleted: 1 }],
  ] as const)("one on no host that is %s is left", async (_, instance) => {
    const stage = new FlowStage({ instance: { ...nowhere, ...instance } });
    await stage.run("soft_delete_instance", {});
    expect(stage.calls).toEqual([]);
  });
});

describe("rescue", () => {
  test.each([
    ["its own image", undefined, "image"],
    ["another one", "rescue-image", "rescue-image"],
  ])("boots from %s", async (_, rescueImageRef, id) => {
    const stage = new FlowStage({ instance: { taskState: "rescuing" } });
    await stage.run("rescue_instance", rescueImageRef === undefined ? {} : { rescueImageRef });
    const image = { ...IMAGE, id, name: id };
    expect(stage.did).toEqual([
      ["driver.rescue", VM(), { image, network: [], blockDevices: expect.anything() }],
      ["tracker.saveInstance", VM(), { vmState: "rescued", powerState: 1, taskState: null }, ["rescuing", null]],
    ]);
    expect(stage.steps).toEqual(["rescue_instance.rescue", "rescue_instance.record"]);
  });

  test("the image is as the instance's metadata says", async () => {
    const imageMetadata = {
      image_name: "cirros",
      image_disk_format: "qcow2",
      image_container_format: "ovf",
      image_min_disk: "3",
      image_min_ram: "64",
    };
    const stage = new FlowStage({ instance: { taskState: "rescuing", systemMetadata: imageMetadata } });
    await stage.run("rescue_instance", {});
    expect(stage.argumentsOf("driver.rescue")[0]?.[1]).toMatchObject({
      image: {
        id: "image",
        name: "cirros",
        diskFormat: "qcow2",
        containerFormat: "ovf",
        minDisk: 3,
        minRam: 64,
        properties: { name: "cirros", disk_format: "qcow2" },
      },
    });
  });

  test("a size that is no number is none", async () => {
    const imageMetadata = { image_min_disk: "much", image_min_ram: "" };
    const stage = new FlowStage({ instance: { taskState: "rescuing", systemMetadata: imageMetadata } });
    await stage.run("rescue_instance", {});
    expect(stage.argumentsOf("driver.rescue")[0]?.[1]).toMatchObject({ image: { minDisk: 0, minRam: 0 } });
  });
});
