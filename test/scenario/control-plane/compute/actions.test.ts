import { beforeEach, describe, expect, test } from "vitest";
import {
  hasInterruptedRebuild,
  type Instance,
  type NewInstance,
  type TaskState,
  type VmState,
} from "../../../../src/records/index.js";
import { ApiWorld } from "../../../unit/control-plane/compute/api-world.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
  world.host("devstack2");
});

describe("evacuate", () => {
  const server = (changes: Partial<NewInstance> = {}) => {
    world.fence("devstack1");
    return world.server("devstack1", changes);
  };

  test.each([
    [1, { onSharedStorage: false, host: "devstack2" }, "devstack2", false, false, false],
    [1, { onSharedStorage: "True" }, null, false, true, false],
    [14, { host: "devstack2" }, "devstack2", false, null, false],
    [29, { host: "devstack2", force: true }, "devstack2", true, null, false],
    [29, { host: "devstack2", force: "False" }, "devstack2", false, null, false],
    [68, {}, null, false, null, false],
    [94, { host: "devstack2" }, "devstack2", false, null, false],
    [95, { host: "devstack2" }, "devstack2", false, null, true],
  ])("6.7 row 1, 2.%i %j", async (version, evacuate, host, forced, onSharedStorage, targetStopped) => {
    const instance = server();
    const reply = await world.act(instance, { evacuate }, version);
    expect(reply.status, reply.body).toBe(200);
    expect(world.stateOf(instance)).toEqual(["active", "rebuilding"]);
    const [migration] = world.store.migrations.byFilters({ instanceUuid: instance.uuid });
    expect(migration).toMatchObject({
      migrationType: "evacuation",
      status: "accepted",
      sourceCompute: "devstack1",
      sourceNode: "devstack1",
      destCompute: host,
      destNode: null,
      projectId: world.projectId("admin"),
    });
    expect(world.tasks()).toEqual([
      {
        kind: "rebuild_instance",
        instanceUuid: instance.uuid,
        migrationId: migration?.id,
        requestId: reply.headers["x-compute-request-id"],
        host,
        forced,
        onSharedStorage,
        targetStopped,
      },
    ]);
    expect(world.store.actions.list(instance.uuid)[0]?.action).toBe("evacuate");
    expect(world.wakes).toBe(1);
  });

  describe("6.7 row 1 OPT an evacuation records that it interrupted a rebuild", () => {
    const pendingEvacuation = ({ uuid: instanceUuid }: Instance) => {
      const changes = { sourceCompute: "devstack1", sourceNode: "devstack1" };
      world.store.migrations.create({ instanceUuid, migrationType: "evacuation", status: "accepted", changes });
    };
    /** Starts an action whose request owns the task. */
    const begun = (action: string, { uuid: instanceUuid }: Instance, taskState: TaskState) => {
      const requestId = `req-${action}`;
      world.store.actions.start({ instanceUuid, action, requestId, userId: "u1", projectId: "p1" });
      world.store.instances.save(instanceUuid, { taskState, taskRequestId: requestId });
    };
    const evacuated = async (instance: Instance) => {
      const { vmState } = instance;
      expect((await world.act(instance, { evacuate: {} }, 29)).status).toBe(200);
      const found = world.store.instances.get(instance.uuid);
      expect(found).toMatchObject({ vmState, taskState: "rebuilding" });
      return found !== null && hasInterruptedRebuild(found);
    };

    test.each([
      ["rebuild", "rebuilding", false, true],
      ["rebuild", "rebuild_spawning", false, true],
      ["rebuild", "rebuild_spawning", true, true],
      ["evacuate", "rebuilding", true, false],
      ["stop", "powering-off", false, false],
    ] as const)(
      "after a %s in %s, with an evacuation pending: %s, the interrupted rebuild is recorded: %s",
      async (action, task, pending, expected) => {
        for (const vmState of ["active", "stopped"] as const) {
          const instance = server({ vmState });
          begun(action, instance, task);
          if (pending) {
            pendingEvacuation(instance);
          }
          expect(await evacuated(instance)).toBe(expected);
        }
      },
    );

    test.each([
      ["rebuild_spawning", false, true],
      ["rebuilding", true, false],
    ] as const)(
      "in %s of an unknown request, with an evacuation pending: %s, the interrupted rebuild is recorded: %s",
      async (task, pending, expected) => {
        const instance = server({ taskState: task });
        if (pending) {
          pendingEvacuation(instance);
        }
        expect(await evacuated(instance)).toBe(expected);
      },
    );

    test("a second evacuation keeps the record, and one of a server without a task removes it", async () => {
      const instance = server();
      begun("rebuild", instance, "rebuild_spawning");
      expect(await evacuated(instance)).toBe(true);
      expect(await evacuated(instance)).toBe(true);
      world.store.instances.save(instance.uuid, { taskState: null });
      expect(await evacuated(instance)).toBe(false);
    });
  });

  test("the password is in the response before 2.14, unless the disk is shared", async () => {
    const requestEvacuation = async (evacuate: unknown, version: number) =>
      (await world.act(server(), { evacuate }, version)).json();
    expect(await requestEvacuation({ onSharedStorage: false }, 13)).toEqual({
      adminPass: expect.stringMatching(/^\w{12}$/),
    });
    expect(await requestEvacuation({ onSharedStorage: false, adminPass: "x" }, 13)).toEqual({ adminPass: "x" });
    expect(await requestEvacuation({ onSharedStorage: true }, 13)).toEqual({ adminPass: null });
    expect(await requestEvacuation({}, 14)).toBeUndefined();
  });

  test.each<[string, unknown, number, number, string]>([
    ["unknown host", { host: "mars" }, 29, 404, "Compute host mars not found."],
    ["the same host", { host: "devstack1" }, 29, 400, "The target host can't be the same one."],
    ["force to nowhere", { force: true }, 29, 400, "Can't force to a non-provided destination"],
    ["force since 2.68", { host: "devstack2", force: true }, 68, 400, "('force' was unexpected)"],
    ["force before 2.29", { host: "devstack2", force: true }, 28, 400, "('force' was unexpected)"],
    ["shared storage since 2.14", { onSharedStorage: true }, 14, 400, "('onSharedStorage' was unexpected)"],
    ["no shared storage before 2.14", {}, 13, 400, "'onSharedStorage' is a required property"],
    [
      "a password for a shared disk",
      { onSharedStorage: true, adminPass: "x" },
      13,
      400,
      "admin password can't be changed on existing disk",
    ],
  ])("rejects: %s", async (_name, evacuate, version, status, message) => {
    const instance = server();
    const reply = await world.act(instance, { evacuate }, version);
    expect([reply.status, reply.message]).toEqual([status, expect.stringContaining(message)]);
    expect(world.stateOf(instance)).toEqual(["active", null]);
    expect(world.tasks()).toEqual([]);
  });

  test("6.7 an evacuation is rejected with 400 while the source is up", async () => {
    const reply = await world.act(world.server("devstack1"), { evacuate: {} }, 29);
    expect([reply.status, reply.message]).toEqual([400, "Compute service of devstack1 is still in use."]);
  });

  test.each<[VmState, TaskState | null, number]>([
    ["active", "powering-off", 200],
    ["stopped", null, 200],
    ["error", "rebuilding", 200],
    ["building", null, 409],
    ["resized", null, 409],
    ["paused", null, 409],
  ])("6.7 vm_state %s, task_state %s: %i", async (vmState, taskState, status) => {
    const instance = server({ vmState, taskState });
    const reply = await world.act(instance, { evacuate: {} }, 29);
    expect(reply.status).toBe(status);
    if (status === 409) {
      expect(reply.message).toBe(`Cannot 'evacuate' instance ${instance.uuid} while it is in vm_state ${vmState}`);
    }
  });

  test("only administrators may evacuate, even their own project's servers", async () => {
    const instance = server({ projectId: world.projectId("demo") });
    const reply = await world.act(instance, { evacuate: {} }, 29, await world.token("demo"));
    expect([reply.status, reply.message]).toEqual([
      403,
      "Policy doesn't allow os_compute_api:os-evacuate to be performed.",
    ]);
  });
});

describe("power", () => {
  test.each<[string, unknown, Partial<NewInstance>, string, TaskState]>([
    ["os-start", { "os-start": null }, { vmState: "stopped" }, "start_instance", "powering-on"],
    ["os-stop", { "os-stop": null }, {}, "stop_instance", "powering-off"],
    ["os-stop", { "os-stop": {} }, { vmState: "error" }, "stop_instance", "powering-off"],
    ["reboot", { reboot: { type: "soft" } }, {}, "reboot_instance", "rebooting"],
    ["reboot", { reboot: { type: "HARD" } }, { vmState: "stopped" }, "reboot_instance", "rebooting_hard"],
  ])("%s %j saves the task state and casts to the agent", async (_name, body, changes, method, taskState) => {
    const instance = world.server("devstack1", changes);
    const reply = await world.act(instance, body);
    expect([reply.status, reply.body]).toEqual([202, ""]);
    expect(world.stateOf(instance)[1]).toBe(taskState);
    expect(world.casts).toMatchObject([{ host: "devstack1", method, params: { instanceUuid: instance.uuid } }]);
    expect(world.store.actions.list(instance.uuid)).toHaveLength(1);
  });

  test.each<[unknown, Partial<NewInstance>, string]>([
    [{ "os-start": null }, {}, "Cannot 'start' instance ID while it is in vm_state active"],
    [{ "os-stop": null }, { taskState: "rebooting" }, "Cannot 'stop' instance ID while it is in task_state rebooting"],
    [
      { reboot: { type: "SOFT" } },
      { vmState: "stopped" },
      "Cannot 'reboot' instance ID while it is in vm_state stopped",
    ],
  ])("%j is rejected in %j", async (body, changes, message) => {
    const instance = world.server("devstack1", changes);
    const reply = await world.act(instance, body);
    expect([reply.status, reply.message]).toEqual([409, message.replace("ID", instance.uuid)]);
    expect(world.casts).toEqual([]);
  });

  test.each<[unknown, Partial<NewInstance>, string]>([
    [{ "os-start": null }, { vmState: "stopped" }, "start_instance"],
    [{ "os-stop": null }, {}, "stop_instance"],
    [{ reboot: { type: "HARD" } }, {}, "reboot_instance"],
    [{ pause: null }, {}, "pause_instance"],
    [{ unpause: null }, { vmState: "paused" }, "unpause_instance"],
    [{ suspend: null }, {}, "suspend_instance"],
    [{ resume: null }, { vmState: "suspended" }, "resume_instance"],
    [{ rescue: {} }, {}, "rescue_instance"],
    [{ shelve: null }, {}, "shelve_instance"],
    [{ shelveOffload: null }, { vmState: "shelved" }, "shelve_offload_instance"],
  ])("%j is accepted while the host is down, and its message waits for the host", async (body, changes, method) => {
    world.fence("devstack1");
    const reply = await world.act(world.server("devstack1", changes), body);
    expect([200, 202]).toContain(reply.status);
    expect(world.casts).toMatchObject([{ host: "devstack1", method }]);
  });

  test.each([{ migrate: null }, { resize: { flavorRef: "2" } }])(
    "%j is rejected with 409 while the host is down",
    async (body) => {
      world.fence("devstack1");
      const reply = await world.act(world.server("devstack1"), body);
      expect([reply.status, reply.message]).toEqual([409, "Service is unavailable at this time."]);
      expect(world.casts).toEqual([]);
    },
  );

  test("an action whose message cannot be stored changes nothing", async () => {
    const instance = world.server("devstack1");
    world.casts.push = () => {
      throw new Error("disk full");
    };
    expect((await world.act(instance, { "os-stop": null })).status).toBe(500);
    expect(world.stateOf(instance)).toEqual(["active", null]);
    expect(world.store.actions.list(instance.uuid)).toEqual([]);
  });
});

describe("other actions", () => {
  test("os-resetState sets vm_state and clears the task state", async () => {
    const instance = world.server("devstack1", { vmState: "error", taskState: "spawning" });
    expect((await world.act(instance, { "os-resetState": { state: "active" } })).status).toBe(202);
    expect(world.stateOf(instance)).toEqual(["active", null]);
    const [action] = world.store.actions.list(instance.uuid);
    expect(action).toMatchObject({ action: "resetState", userId: world.userId("admin"), message: null });
    const reply = await world.act(instance, { "os-resetState": { state: "resized" } });
    expect(reply.message).toBe(
      "Invalid input for field/attribute state. Value: resized. 'resized' is not one of ['active', 'error']",
    );
  });

  test("trigger_crash_dump is accepted for a server that has run, and records a successful action", async () => {
    const instance = world.server("devstack1", { vmState: "paused" });
    const act = (version: number, body: unknown = { trigger_crash_dump: null }) => world.act(instance, body, version);
    expect((await act(16)).status).toBe(404);
    expect((await act(17, { trigger_crash_dump: {} })).status).toBe(400);
    expect((await act(17)).status).toBe(202);
    expect(world.stateOf(instance)).toEqual(["paused", null]);
    const [action] = world.store.actions.list(instance.uuid);
    expect(action?.action).toBe("trigger_crash_dump");
    expect(world.store.actions.events(action?.id ?? 0)).toMatchObject([
      { event: "compute_trigger_crash_dump", host: "devstack1", result: "Success" },
    ]);
    world.store.instances.save(instance.uuid, { vmState: "stopped" });
    expect((await act(17)).message).toBe(
      `Cannot 'trigger_crash_dump' instance ${instance.uuid} while it is in vm_state stopped`,
    );
  });

  test("injectNetworkInfo is accepted in every state and changes nothing", async () => {
    const instance = world.server("devstack1", { vmState: "stopped", taskState: "powering-on" });
    expect((await world.act(instance, { injectNetworkInfo: null })).status).toBe(202);
    expect(world.stateOf(instance)).toEqual(["stopped", "powering-on"]);
  });

  test.each([
    ["addFixedIp", { networkId: "net" }, (uuid: string) => `Network could not be found for instance ${uuid}.`],
    ["removeFixedIp", { address: "10.0.0.9" }, (uuid: string) => `Instance ${uuid} does not have fixed IP '10.0.0.9'.`],
  ])("%s is accepted until 2.43 and records Nova's fault", async (action, options, message) => {
    const instance = world.server("devstack1");
    expect((await world.act(instance, { [action]: options }, 44)).status).toBe(404);
    expect((await world.act(instance, { [action]: {} }, 43)).status).toBe(400);
    expect((await world.act(instance, { [action]: options }, 43)).status).toBe(202);
    world.store.instances.save(instance.uuid, { vmState: "error" });
    const reply = await world.ask({ url: `/compute/v2.1/servers/${instance.uuid}` });
    expect(reply.json("server", "fault")).toMatchObject({ code: 404, message: message(instance.uuid) });
  });

  test.each(["trigger_crash_dump", "injectNetworkInfo"])(
    "%s is rejected for a locked server with 409 and for an unknown one with 404",
    async (name) => {
      const token = await world.token("demo");
      const projectId = world.projectId("demo");
      const locked = world.server("devstack1", { projectId, locked: true });
      const act = (id: string) =>
        world.ask({
          method: "POST",
          url: `/compute/v2.1/servers/${id}/action`,
          body: { [name]: null },
          version: 17,
          token,
        });
      expect((await act(locked.uuid)).status).toBe(name === "injectNetworkInfo" ? 403 : 409);
      expect((await act(crypto.randomUUID())).status).toBe(404);
    },
  );

  test("the topology of a server has no nodes, since 2.78", async () => {
    const { uuid } = world.server("devstack1");
    const show = (version: number) => world.ask({ url: `/compute/v2.1/servers/${uuid}/topology`, version });
    expect((await show(77)).status).toBe(404);
    expect((await show(78)).json()).toEqual({ nodes: [], pagesize_kb: null });
  });

  test("lock saves a reason since 2.73, and unlock clears it", async () => {
    const instance = world.server("devstack1");
    await world.act(instance, { lock: { locked_reason: "mine" } }, 73);
    const reply = await world.ask({ url: `/compute/v2.1/servers/${instance.uuid}`, version: 73 });
    expect([reply.json("server", "locked"), reply.json("server", "locked_reason")]).toEqual([true, "mine"]);
    await world.act(instance, { unlock: null });
    expect(world.store.instances.get(instance.uuid)).toMatchObject({ locked: false, lockedReason: null });
  });

  test("createImage is accepted for a locked server", async () => {
    const instance = world.server("devstack1", { locked: true, projectId: world.projectId("demo") });
    const demo = await world.token("demo");
    expect((await world.act(instance, { "os-stop": null }, 1, demo)).status).toBe(409);
    expect((await world.act(instance, { createImage: { name: "copy" } }, 1, demo)).status).toBe(202);
  });

  test.each([
    ["There is no such action: os-dance", { "os-dance": null }],
    ["Malformed request body", {}],
    ["Malformed request body", []],
    ["Malformed request body", "{"],
    ["Additional properties are not allowed ('more' was unexpected)", { "os-stop": null, more: 1 }],
  ])("a body is rejected: %s", async (message, body) => {
    const reply = await world.act(world.server("devstack1"), body);
    expect([reply.status, reply.message]).toEqual([400, message]);
  });

  test("an action of a server that is only a build request is rejected with 409", async () => {
    const instance = world.server(null, { vmState: "building", taskState: "scheduling" });
    world.store.requests.createBuildRequest({ instanceUuid: instance.uuid, projectId: instance.projectId, instance });
    const reply = await world.act(instance, { "os-stop": null });
    expect([reply.status, reply.message]).toEqual([409, `Instance ${instance.uuid} is not ready`]);
  });
});
