import { describe, expect, test } from "vitest";
import { openMessage } from "../../../src/nova-rpc/messages/oslo-message.js";
import { novaObject, objectOf } from "../../../src/nova-rpc/objects/primitive.js";
import { recording } from "../../fixtures/nova-recordings.js";
import { caller, INSTANCE, open, UUID, usual } from "../../fixtures/nova-session-harness.js";
import type { ConductorRequest } from "../../fixtures/scripted-conductor.js";

const SERVICE = { host: "h", binary: "nova-compute" };
const MIGRATION = { id: 3, uuid: "m", instance_uuid: UUID, migration_type: "live-migration" };

const [RECORDED] = recording("zed", "live-migrate").filter(({ msg }) => msg.method === "live_migration");
const MESSAGE = RECORDED?.msg.args ?? {};

/** Scripts a conductor that stores one migration. */
function withMigration(each: ConductorRequest): unknown {
  switch (each.what) {
    case "Migration.get_by_id":
      return novaObject("Migration", "1.7", { ...MIGRATION, status: "accepted" }, []);
    case "Migration.save":
      return [{ ...MIGRATION, status: "accepted", ...each.changes, obj_what_changed: [] }, null];
    default:
      return usual(each);
  }
}

describe("a service with regular heartbeats", () => {
  async function beating() {
    const harness = await open();
    const { session, runtime, requests } = harness;
    const read = () => runtime.runUntil(session.call("service_get_by_host", SERVICE));
    const beat = () => runtime.runUntil(session.call("service_report_state", { id: 5 }));
    const reads = () => requests.filter(({ what }) => what === "Service.get_by_host_and_binary").length;
    await read();
    return { ...harness, read, beat, reads };
  }

  test("is not read again, since the response to each heartbeat has the changes", async () => {
    const { runtime, read, beat, reads } = await beating();
    for (let beats = 0; beats < 3; beats += 1) {
      await runtime.advance(10_000);
      await beat();
      await expect(read()).resolves.toMatchObject({ id: 5, host: "h" });
    }
    expect(reads()).toBe(1);
  });

  test("is not read right after its creation", async () => {
    const { session, runtime, requests } = await open();
    const made = { ...SERVICE, topic: "compute", version: 64, enableNewServices: true };
    await runtime.runUntil(session.call("service_create", made));
    await expect(runtime.runUntil(session.call("service_get_by_host", SERVICE))).resolves.toMatchObject({ id: 5 });
    expect(requests.map(({ what }) => what)).not.toContain("Service.get_by_host_and_binary");
  });

  test("is read again after a longer time without a heartbeat", async () => {
    const { runtime, read, reads } = await beating();
    await runtime.advance(15_000);
    await read();
    expect(reads()).toBe(2);
  });

  test("is read after the API has enabled or disabled it", async () => {
    const { session, runtime, broker, read, reads } = await beating();
    await session.serve({ set_host_enabled: async () => "disabled" });
    const { send, replies } = await caller(broker);
    await runtime.advance(1);
    await send({ method: "set_host_enabled", args: { enabled: false } });
    await runtime.runUntil(() => replies.length > 0);
    await runtime.advance(1);
    await read();
    expect(reads()).toBe(2);
  });
});

describe("calls on behalf of a message", () => {
  /** Serves a recorded live migration with `work`. */
  async function migrating(work: (harness: Awaited<ReturnType<typeof open>>) => Promise<void>) {
    const harness = await open(withMigration);
    let done = false;
    await harness.session.serve({
      live_migration: async () => {
        await work(harness);
        done = true;
        return null;
      },
    });
    const { send } = await caller(harness.broker);
    await send({ method: "live_migration", args: MESSAGE });
    await harness.runtime.runUntil(() => done);
    return harness;
  }
  const count = (requests: readonly ConductorRequest[], name: string) =>
    requests.filter(({ what }) => what === name).length;

  test("a status that was just read or written is not read again for the next save", async () => {
    const { requests } = await migrating(async ({ session, runtime }) => {
      const save = (status: string, expected: string) =>
        session.call("migration_save", { id: 3, changes: { status }, expectedStatus: [expected] } as never);
      await save("queued", "accepted");
      await save("preparing", "queued");
      await expect(save("running", "queued"), "it is looked at all the same").rejects.toThrow("is preparing");
      await runtime.timers.sleep(1_001);
      await expect(save("running", "preparing"), "the conductor says accepted").rejects.toThrow("is accepted");
    });
    expect([count(requests, "Migration.get_by_id"), count(requests, "Migration.save")]).toEqual([2, 2]);
  });

  test("values that the migration already has are not saved again", async () => {
    const { requests } = await migrating(async ({ session }) => {
      for (const destNode of ["n1", "n1", "n2"]) {
        await session.call("migration_save", { id: 3, changes: { destNode } });
      }
    });
    expect(count(requests, "Migration.save")).toBe(2);
  });

  test("an expected host next to an expected task is not checked twice", async () => {
    const uuid = UUID;
    const { requests } = await migrating(async ({ session }) => {
      const saved = await session.call("instance_get", { uuid });
      const expectedHost = saved?.host ?? null;
      await session.call("instance_save", { uuid, changes: { progress: 1 }, expectedHost, expectedTaskState: [null] });
      const other = { uuid, changes: { progress: 2 }, expectedHost: "other", expectedTaskState: [null] };
      await expect(session.call("instance_save", other)).rejects.toThrow("host changed");
      await session.call("instance_save", { uuid, changes: { progress: 3 }, expectedHost });
    });
    expect(count(requests, "Instance.get_by_uuid"), "alone it is looked at each time").toBe(2);
  });

  test("the instance is forwarded to the next host as received, with its unsaved fields", async () => {
    const sent: unknown[] = [];
    const instance = objectOf(MESSAGE.instance);
    const instanceUuid = String(instance["nova_object.data"].uuid);
    const { requests, broker } = await migrating(async ({ session, connection }) => {
      const other = connection.host("other", { lease: false });
      await other.serve({ check_instance_shared_storage: async () => true });
      const params = { instanceUuid, migrationId: 3, blockMigration: false, data: {}, requestId: "req-1" };
      await session.callAgent("other", "pre_live_migration", params, { timeout: 1_000 }).catch(() => {});
    });
    for (const { routingKey, body } of broker.published) {
      const request = openMessage(body);
      if (routingKey === "compute.other" && request.kind === "request") {
        sent.push(request.args.instance);
      }
    }
    expect(count(requests, "Instance.get_by_uuid")).toBe(0);
    expect(instance["nova_object.changes"]).toContain("resources");
    const { "nova_object.data": data } = objectOf(sent[0]);
    expect(sent[0]).toMatchObject({ "nova_object.changes": ["availability_zone"] });
    expect(data).toMatchObject(instance["nova_object.data"]);
    expect(data.pci_devices, "a nova-compute would ask for what is not loaded").toMatchObject({
      "nova_object.name": "PciDeviceList",
    });
  });

  test("an incomplete instance of a message is read again for the next host", async () => {
    const { flavor, ...little } = INSTANCE["nova_object.data"];
    const { session, runtime, requests, broker } = await open();
    const instance = novaObject("Instance", "2.7", little, []);
    let done = false;
    await session.serve({
      start_instance: async () => {
        const cast = { instanceUuid: UUID, migrationId: 3, requestId: "req-1" };
        await session.castAgent("nobody", "finish_revert_resize", cast).catch(() => {});
        done = true;
        return null;
      },
    });
    const { send } = await caller(broker);
    await send({ method: "start_instance", args: { instance } });
    await runtime.runUntil(() => done);
    expect(flavor).toBeDefined();
    expect(requests.filter(({ what }) => what === "Instance.get_by_uuid")).toHaveLength(1);
  });
});
