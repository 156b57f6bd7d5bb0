import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AgentHandlers, HostSession } from "../../../src/conductor-client/port.js";
import { type NovaObject, novaObject } from "../../../src/nova-rpc/objects/primitive.js";
import { REQUESTS } from "../../../src/nova-rpc/transport/topology.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { MemoryBroker } from "../../fixtures/memory-broker.js";
import { NovaFailure } from "../../fixtures/nova-conductor/nova-failure.js";
import { recording } from "../../fixtures/nova-recordings.js";
import { caller, connect, INSTANCE, open, UUID, usual } from "../../fixtures/nova-session-harness.js";
import { property } from "../../fixtures/property.js";
import { scriptConductor } from "../../fixtures/scripted-conductor.js";

const serve = (session: HostSession, handlers: Partial<AgentHandlers>) => session.serve(handlers);

describe("a connection to a real Nova", () => {
  it("waits for a conductor, and uses the profile of its release", async () => {
    const runtime = createVirtualRuntime();
    const broker = new MemoryBroker();
    const connection = connect(broker, runtime);
    const states: string[] = [];
    connection.onState((state) => states.push(state));
    await runtime.advance(25_000);
    expect(states).toContain("waiting");
    await scriptConductor(broker, usual, { serviceVersion: 68 });
    await runtime.runUntil(connection.connected());
    expect(connection).toMatchObject({ state: "connected", serviceVersion: 68, profile: { release: "epoxy" } });
  });

  it("creates a service with its version: a row without would be the oldest of the cloud", async () => {
    const { session, requests, runtime } = await open();
    const created = session.call("service_create", {
      host: "h",
      binary: "nova-compute",
      topic: "compute",
      version: 64,
      enableNewServices: true,
    });
    await expect(runtime.runUntil(created)).resolves.toMatchObject({ id: 5, host: "h", version: 64 });
    expect(requests.at(-1)).toMatchObject({ what: "Service.create", changes: { version: 64, report_count: 0 } });
  });

  it("increments the heartbeat count even if a response was lost, and preserves the version", async () => {
    let fails = false;
    const { session, requests, runtime } = await open((each) => {
      if (fails && each.what === "Service.save") {
        return new Promise(() => {});
      }
      return usual(each);
    });
    await runtime.runUntil(session.call("service_get_by_host", { host: "h", binary: "nova-compute" }));
    const beat = () => runtime.runUntil(session.call("service_report_state", { id: 5 }, { timeout: 10_000 }));
    await beat();
    fails = true;
    await expect(beat()).rejects.toMatchObject({ code: "MessagingTimeout" });
    fails = false;
    await beat();
    const saves = requests.filter(({ what }) => what === "Service.save");
    expect(saves.map(({ changes }) => changes)).toEqual([
      { report_count: 8 },
      { report_count: 9 },
      { report_count: 10 },
    ]);
    expect(saves[2]?.request.args.objinst).toMatchObject({ "nova_object.data": { version: 64, host: "h" } });
  });

  it("8.10 disables a service with a reason after reading it again: a service disabled by an operator keeps that reason", async () => {
    let since: object | null = {};
    const { session, requests, runtime } = await open((each) => {
      if (each.what !== "Service.get_by_host_and_binary") {
        return usual(each);
      }
      const service = usual(each) as NovaObject;
      return since && { ...service, "nova_object.data": { ...service["nova_object.data"], ...since } };
    });
    await runtime.runUntil(session.call("service_get_by_host", { host: "h", binary: "nova-compute" }));
    const disable = () =>
      runtime.runUntil(session.call("service_disable", { id: 5, reason: "AUTO: driver mine threw" }));
    const saves = () => requests.filter(({ what }) => what === "Service.save").map(({ changes }) => changes);
    expect(await disable()).toMatchObject({ disabled: true, disabledReason: "AUTO: driver mine threw", version: 64 });
    const saved = [{ disabled: true, disabled_reason: "AUTO: driver mine threw" }];
    expect(saves()).toEqual(saved);
    since = { disabled: true, disabled_reason: "new disks" };
    expect(await disable()).toMatchObject({ disabled: true, disabledReason: "new disks" });
    expect(saves()).toEqual(saved);
    since = null;
    await expect(disable()).rejects.toMatchObject({ code: "ServiceNotFound" });
  });

  it("saves only the changed fields of an instance, and returns the complete record", async () => {
    const { session, requests, runtime } = await open();
    const save = { uuid: UUID, changes: { taskState: "networking" }, expectedTaskState: [null] } as const;
    const saved = await runtime.runUntil(session.call("instance_save", { ...save, expectedTaskState: [null] }));
    const [sent] = requests.filter(({ what }) => what === "Instance.save");
    expect(sent).toMatchObject({ changes: { task_state: "networking" }, kwargs: { expected_task_state: [null] } });
    expect(sent?.request.args.objinst).toMatchObject({ "nova_object.data": { uuid: UUID, task_state: "networking" } });
    expect(saved).toMatchObject({ uuid: UUID, taskState: "networking", flavor: { vcpus: expect.any(Number) } });
    const reads = () => requests.filter(({ what }) => what === "Instance.get_by_uuid").length;
    const before = reads();
    await runtime.runUntil(session.call("instance_save", { ...save, expectedTaskState: [null] }));
    expect(reads(), "what was read once is kept").toBe(before);
  });

  it.each([
    ["finished", "resized", ["Migration.save", "Instance.save"]],
    ["post-migrating", "active", ["Instance.save", "Migration.save"]],
  ] as const)(
    "saves of a %s move and its instance first the record that the API requires after it has read the other",
    async (status, vmState, order) => {
      const row = {
        id: 7,
        uuid: "m",
        instance_uuid: UUID,
        migration_type: "resize",
        status,
        created_at: "2026-01-01T00:00:00Z",
      };
      const { session, requests, runtime } = await open((each) =>
        each.what === "Migration.save" ? [row, null] : usual(each),
      );
      const writes = { instance: { uuid: UUID, changes: { vmState } }, migration: { id: 7, changes: { status } } };
      const saved = await runtime.runUntil(session.call("save_together", writes));
      expect(saved).toMatchObject({ instance: { vmState }, migration: { status } });
      expect(requests.map(({ what }) => what).filter((what) => what.endsWith(".save"))).toEqual(order);
    },
  );

  it("reads the row if the response to a save of other tables' fields does not contain it", async () => {
    const { session, runtime } = await open((each) =>
      each.what === "Instance.save" ? [{ migration_context: null, obj_what_changed: [] }, null] : usual(each),
    );
    const saved = session.call("instance_save", { uuid: UUID, changes: { migrationContext: null } });
    const { image_ref: imageRef, vm_state: vmState } = INSTANCE["nova_object.data"];
    await expect(runtime.runUntil(saved)).resolves.toMatchObject({ imageRef, vmState, migrationContext: null });
    const again = session.call("instance_save", { uuid: UUID, changes: { migrationContext: null } });
    await expect(runtime.runUntil(again), "what is remembered is not the row").resolves.toMatchObject({ imageRef });
  });

  it("converts the conductor's error to the agent's error class", async () => {
    const { session, runtime } = await open(() => {
      throw new NovaFailure("UnexpectedTaskStateError");
    });
    const saved = session.call("instance_save", { uuid: UUID, changes: { taskState: null } });
    await expect(runtime.runUntil(saved)).rejects.toMatchObject({ code: "UnexpectedTaskState" });
  });

  it("makes no call for an empty list of uuids, which Nova would ignore", async () => {
    const { session, requests, runtime } = await open();
    await expect(runtime.runUntil(session.call("instances_by_filters", { filters: { uuids: [] } }))).resolves.toEqual(
      [],
    );
    expect(requests).toEqual([]);
  });

  it("makes two calls for task states that include null: SQL finds no null in a list", async () => {
    const { session, requests, runtime } = await open(() => novaObject("InstanceList", "2.6", { objects: [] }));
    await runtime.runUntil(
      session.call("instances_by_filters", { filters: { host: "h", taskStates: [null, "spawning"] } }),
    );
    expect(requests.map(({ args }) => args)).toEqual([
      [{ host: "h", task_state: ["spawning"] }],
      [{ host: "h", task_state: null }],
    ]);
  });
});

describe("a host of a real Nova", () => {
  it("responds to a call once, however often it is delivered", async () => {
    const { session, runtime, broker } = await open();
    let calls = 0;
    await serve(session, {
      set_host_enabled: async () => {
        calls += 1;
        return "disabled";
      },
    });
    const { send, replies } = await caller(broker);
    const ask = { method: "set_host_enabled", args: { enabled: false }, uniqueId: "the same" };
    await send(ask);
    await send(ask);
    await runtime.advance(1_000);
    expect(replies).toEqual([expect.objectContaining({ result: "disabled", failure: null, ending: true })]);
    expect(calls).toBe(1);
  });

  it("sends signs of life to a caller that wants them", async () => {
    const { session, runtime, broker } = await open();
    await serve(session, {
      set_host_enabled: async () => {
        await runtime.timers.sleep(100_000);
        return "enabled";
      },
    });
    const { send, replies } = await caller(broker);
    await send({ method: "set_host_enabled", args: { enabled: true }, monitor: 60 });
    await runtime.advance(95_000);
    expect(replies.map(({ ending }) => ending)).toEqual([false, false, false]);
    await runtime.advance(60_000);
    expect(replies.map(({ ending }) => ending)).toEqual([false, false, false, true]);
  });

  it.each([
    [{ method: "host_power_action" }, "NotImplementedError"],
    [{ method: "get_vnc_console", args: { console_type: "novnc" } }, "ConsoleTypeUnavailable"],
    [{ method: "toString" }, "NoSuchMethod"],
    [{ method: "start_instance", version: "5.0" }, "UnsupportedVersion"],
    [{ method: "start_instance", version: "6.2" }, "UnsupportedVersion"],
    [{ method: "start_instance", args: { instance: null } }, "NovaException"],
  ])("rejects %j with %s", async (ask, name) => {
    const { session, runtime, broker } = await open();
    await serve(session, {});
    const { send, replies } = await caller(broker);
    await send(ask);
    await runtime.advance(1_000);
    expect(JSON.parse(replies[0]?.failure ?? "{}")).toMatchObject({ class: name });
  });

  it("handles a message in the message's context, and saves its unsaved fields", async () => {
    const { session, runtime, broker, requests } = await open();
    await serve(session, {
      start_instance: async ({ instanceUuid }) => {
        await session.call("instance_save", { uuid: instanceUuid, changes: { taskState: null } });
        await session.call("instance_save", { uuid: instanceUuid, changes: { progress: 1 } });
        return null;
      },
    });
    const { send } = await caller(broker);
    const left = { ...INSTANCE["nova_object.data"], availability_zone: "az2" };
    const instance = novaObject("Instance", "2.7", left, ["availability_zone", "ec2_ids"]);
    await send({ method: "start_instance", args: { instance } });
    await runtime.runUntil(() => requests.filter(({ what }) => what === "Instance.save").length === 2);
    const saves = requests.filter(({ what }) => what === "Instance.save");
    expect(saves.map(({ changes }) => changes)).toEqual([
      { availability_zone: "az2", task_state: null },
      { progress: 1 },
    ]);
    expect(saves.map(({ request }) => request.context.request_id)).toEqual(["req-1", "req-1"]);
  });

  it.each(["backup_instance"])("clears the task state of %s, which nothing else would clear", async (method) => {
    const { session, runtime, broker, requests } = await open();
    await serve(session, {});
    const { send, replies } = await caller(broker);
    await send({ method, args: { instance: INSTANCE } });
    await runtime.runUntil(() => replies.length > 0);
    expect(requests.find(({ what }) => what === "Instance.save")?.changes).toEqual({ task_state: null });
  });

  it("lets a destination undo the live migration of a deleted instance and remove its guest", async () => {
    const migration = { id: 3, uuid: "m", instance_uuid: UUID, migration_type: "live-migration", status: "error" };
    const { connection, session, runtime, requests } = await open((each) =>
      each.what === "MigrationList.get_by_filters"
        ? novaObject("MigrationList", "1.5", {
            objects: [novaObject("Migration", "1.7", { ...migration, dest_compute: "other" }, [])],
          })
        : usual(each),
    );
    const taken: unknown[] = [];
    const destination = connection.host("other", { lease: false });
    await serve(destination, {
      rollback_live_migration_at_destination: async (params) => {
        taken.push(params);
        return null;
      },
    });
    const params = { instanceUuid: UUID, migrationId: 3, destroyDisks: false, data: { of: "ours" }, guestGoes: true };
    const cast = { ...params, requestId: "req-9" };
    await runtime.runUntil(session.castAgent("other", "rollback_live_migration_at_destination", cast));
    await runtime.runUntil(() => taken.length > 0);
    expect(taken).toEqual([{ ...params, requestId: expect.any(String) }]);
    const read = requests.find(({ what }) => what === "Instance.get_by_uuid");
    expect(read?.request.context.read_deleted).toBe("yes");
  });

  it("records itself as the destination of a resize, since the conductor does not", async () => {
    const { session, runtime, broker, requests } = await open((each) =>
      each.what === "Migration.save"
        ? [{ id: 3, uuid: "m", instance_uuid: UUID, migration_type: "resize", status: "pre-migrating" }, null]
        : usual(each),
    );
    let prepared = false;
    await serve(session, {
      prep_resize: async () => {
        prepared = true;
        return null;
      },
    });
    const [prep] = recording("zed", "cold-migrate").filter(({ msg }) => msg.method === "prep_resize");
    const { send } = await caller(broker);
    await send({ method: "prep_resize", args: prep?.msg.args ?? {} });
    await runtime.runUntil(() => prepared);
    expect(requests.find(({ what }) => what === "Migration.save")).toMatchObject({
      changes: { dest_compute: "h", dest_node: prep?.msg.args?.node },
    });
  });

  it.each([
    ["rollback_live_migration_at_destination", "running", true],
    ["rollback_live_migration_at_destination", "failed", true],
    ["rollback_live_migration_at_destination", "completed", false],
    ["post_live_migration_at_destination", "failed", false],
  ] as const)("does %s for the last live migration, which is %s: %s", async (method, status, done) => {
    const migration = { id: 3, uuid: "m", instance_uuid: UUID, migration_type: "live-migration", status };
    const { session, runtime, broker, requests } = await open((each) =>
      each.what === "MigrationList.get_by_filters"
        ? novaObject("MigrationList", "1.5", {
            objects: [novaObject("Migration", "1.7", { ...migration, dest_compute: "h" }, [])],
          })
        : usual(each),
    );
    const taken: number[] = [];
    await serve(session, {
      rollback_live_migration_at_destination: async ({ migrationId }) => {
        taken.push(migrationId);
        return null;
      },
      post_live_migration_at_destination: async ({ migrationId }) => {
        taken.push(migrationId);
        return null;
      },
    });
    const { send, replies } = await caller(broker);
    await send({ method, args: { instance: INSTANCE, destroy_disks: true, migrate_data: null } });
    await runtime.runUntil(() => replies.length > 0);
    expect(taken).toEqual(done ? [3] : []);
    const look = requests.find(({ what }) => what === "MigrationList.get_by_filters");
    expect(look?.request.context.read_deleted, "that of a deleted instance, too").toBe("yes");
  });

  property([
    fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map((text) => JSON.stringify({ "oslo.message": text })),
    ),
  ])("survives any message", async (body) => {
    const { session, runtime, broker, connection } = await open();
    await serve(session, { set_host_enabled: async () => "enabled" });
    await broker.connect().publish({ exchange: REQUESTS, routingKey: "compute.h", body, expiration: null });
    const { send, replies } = await caller(broker);
    await send({ method: "set_host_enabled", args: { enabled: true } });
    await runtime.advance(1_000);
    expect(replies).toHaveLength(1);
    await runtime.runUntil(connection.close());
  });
});

describe("calls to a host", () => {
  it("fail with a timeout if the host is not served, as do casts", async () => {
    const { session, runtime } = await open();
    const params = { instanceUuid: UUID, token: {} };
    const pendingCall = session.callAgent("nobody", "check_instance_shared_storage", params, { timeout: 5_000 });
    await expect(runtime.runUntil(pendingCall)).rejects.toMatchObject({ code: "MessagingTimeout" });
  });
});

describe("the lease of a host", () => {
  it("is rejected for a second agent, and free again after the first has ended", async () => {
    const { broker, connection, runtime } = await open();
    const first = connection.host("leased");
    await runtime.runUntil(first.acquireLease());
    expect(first.leaseHeld).toBe(true);
    const other = connect(broker, runtime);
    await runtime.runUntil(other.connected());
    const second = other.host("leased");
    await expect(runtime.runUntil(second.acquireLease())).rejects.toMatchObject({ name: "HostLeaseHeld" });
    expect(second.leaseHeld).toBe(false);
    await first.close();
    await runtime.runUntil(second.acquireLease());
    expect(second.leaseHeld).toBe(true);
  });

  it("is rejected while a real nova-compute reads the host's queue", async () => {
    const { broker, connection, runtime } = await open();
    const queue = { name: "compute.real", durable: false, autoDelete: false, exclusive: false, arguments: {} };
    const real = { queue, exchanges: [], bindings: [], exclusive: false };
    await broker.connect().consume(real, { message: () => {} });
    const session = connection.host("real");
    await expect(runtime.runUntil(session.acquireLease())).rejects.toThrow(/read by another nova-compute/);
  });
});
