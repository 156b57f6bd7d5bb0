import { beforeEach, describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { Instance, Migration } from "../../../../../src/records/index.js";
import { type Cast, ConductorBench, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

const CONFLICT = errorResponse(
  409,
  "placement.concurrent_update",
  "consumer generation conflict - expected 1 but got 2",
);
const CHECK = "check_can_live_migrate_destination";

type LiveTask = Extract<Task, { kind: "live_migrate_instance" }>;

let bench: ConductorBench;
let instance: Instance;
let checkedHosts: string[];

async function open(options: { readonly version?: number; readonly hosts?: readonly string[] } = {}): Promise<void> {
  bench = await ConductorBench.open();
  checkedHosts = [];
  for (const host of options.hosts ?? ["devstack1", "devstack2", "devstack3"]) {
    await bench.host(host, options.version === undefined ? {} : { version: options.version });
  }
  bench.agentReplies.set(CHECK, ({ host }: Cast) => {
    checkedHosts.push(host);
    return { found: host };
  });
  instance = await bench.server("devstack1");
  bench.store.instances.save(instance.uuid, { taskState: "migrating", powerState: 1 });
  const { projectId, userId } = instance;
  const action = { action: "live-migration", instanceUuid: instance.uuid, requestId: "req-live", userId, projectId };
  bench.store.actions.start(action);
}

function task(more: Partial<LiveTask> = {}): LiveTask {
  return {
    kind: "live_migrate_instance",
    instanceUuid: instance.uuid,
    requestId: "req-live",
    host: null,
    forced: false,
    blockMigration: null,
    diskOverCommit: false,
    ...more,
  };
}
function migration(): Migration {
  const [only, second] = bench.store.migrations.byFilters({ instanceUuid: instance.uuid });
  if (only === undefined || second !== undefined) {
    throw new Error("not one migration");
  }
  return only;
}
async function held() {
  return {
    instance: await bench.held(instance.uuid),
    migration: await bench.held(migration().uuid),
  };
}
function state() {
  const { vmState, taskState, host } = bench.instance(instance.uuid);
  return { vmState, taskState, host, status: migration().status };
}
const UNCHANGED = { vmState: "active", taskState: null, host: "devstack1", status: "error" };
const AT_SOURCE = { instance: { devstack1: NEED }, migration: {} };

describe("6.5 live migration", () => {
  beforeEach(() => open());

  it("6.5 rows 2-4: both hosts pass their checks, and the source gets the message", async () => {
    await bench.run(task({ host: "devstack2" }));
    expect(state()).toEqual({ vmState: "active", taskState: "migrating", host: "devstack1", status: "accepted" });
    expect(migration()).toMatchObject({
      migrationType: "live-migration",
      sourceCompute: "devstack1",
      destCompute: "devstack2",
      destNode: "devstack2",
      // Only a move claim writes it, and a live migration makes none: golden a14, osc-server-migration-list-running.
      destHost: null,
    });
    expect(await held()).toEqual({ instance: { devstack2: NEED }, migration: { devstack1: NEED } });
    expect(bench.casts).toMatchObject([
      { host: "devstack1", method: "live_migration", params: { dest: "devstack2", data: { found: "devstack2" } } },
    ]);
  });

  it("6.5 row 2 fail: a guest that is not running, or a source that is down, changes nothing", async () => {
    bench.store.instances.save(instance.uuid, { powerState: 4 });
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    await open();
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual(AT_SOURCE);
    expect(checkedHosts).toEqual([]);
  });

  it("6.5 row 4: an unsuitable host is tried once, then another", async () => {
    bench.agentReplies.set(CHECK, ({ host }) => {
      checkedHosts.push(host);
      if (checkedHosts.length === 1) {
        throw new ConductorError("ConductorError", "InvalidCPUInfo: the CPU lacks avx512");
      }
      return {};
    });
    await bench.run(task());
    expect(new Set(checkedHosts)).toEqual(new Set(["devstack2", "devstack3"]));
    expect(checkedHosts).toHaveLength(2);
    expect(await held()).toEqual({ instance: { [checkedHosts[1] ?? ""]: NEED }, migration: { devstack1: NEED } });
  });

  it("6.5 row 4 fail: no host left: the allocations return, then the task ends", async () => {
    bench.agentReplies.delete(CHECK);
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual(AT_SOURCE);
    expect(bench.casts).toEqual([]);
    const action = bench.store.actions.get(instance.uuid, "req-live");
    expect(bench.store.actions.events(action?.id ?? 0)).toMatchObject([
      { event: "conductor_live_migrate_instance", result: "Error" },
    ]);
  });

  it("6.5 row 4 fail: as many hosts as migrate_max_retries allows, with Nova's message", async () => {
    bench.agentReplies.delete(CHECK);
    bench.settings.migrateMaxRetries = 0;
    await bench.restart();
    await bench.run(task());
    expect(state()).toEqual(UNCHANGED);
    expect(bench.store.instances.fault(instance.uuid)?.message).toBe(
      `Exceeded maximum number of retries. Exceeded max scheduling retries 1 for instance ${instance.uuid} during live migration`,
    );
  });

  it("an unexpected error does not change an instance that another operation owns", async () => {
    const does = () => {
      bench.store.instances.save(instance.uuid, { taskState: "deleting", taskRequestId: "req-delete" });
      return Promise.reject(new TypeError("unforeseen"));
    };
    bench.placementBench.inject({ on: "GET /allocations", does, times: 2 });
    await bench.run(task());
    expect(state()).toMatchObject({ vmState: "active", taskState: "deleting", status: "error" });
  });

  it("6.5 row 3 fail: a concurrent write of allocations leaves the instance in error on the source", async () => {
    bench.placementBench.inject({ on: "POST /allocations", does: CONFLICT });
    await bench.run(task());
    expect(state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(await held()).toEqual(AT_SOURCE);
  });

  it("6.5 row 4 fail: an unexpected exception leaves the instance in error", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    await bench.run(task());
    expect(state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(await held()).toEqual(AT_SOURCE);
  });

  it("6.5 row 4f: a forced host is claimed without the scheduler", async () => {
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    await bench.run(task({ host: "devstack3", forced: true }));
    expect(await held()).toEqual({ instance: { devstack3: NEED }, migration: { devstack1: NEED } });
    expect(bench.placementBench.sent.some(({ path }) => path.startsWith("/allocation_candidates"))).toBe(false);
  });

  it("6.5 row 4f fail: the source itself, a host that is down, or one without memory: nothing changes", async () => {
    for (const spoil of [
      () => "devstack1",
      () => {
        bench.store.services.update(bench.service("devstack2").id, { forcedDown: true });
        return "devstack2";
      },
      () => {
        const [node] = bench.store.computeNodes.byHost("devstack2");
        bench.store.computeNodes.save(node?.id ?? 0, { freeRamMb: 512 });
        return "devstack2";
      },
    ]) {
      await open();
      await bench.run(task({ host: spoil(), forced: true }));
      expect(state()).toEqual(UNCHANGED);
      expect(await held()).toEqual(AT_SOURCE);
    }
  });

  it("6.5 row 4f fail: a consumer conflict leaves the instance in error", async () => {
    bench.placementBench.inject({ on: `PUT /allocations/${instance.uuid}`, does: CONFLICT });
    await bench.run(task({ host: "devstack2", forced: true }));
    expect(state()).toEqual({ ...UNCHANGED, vmState: "error" });
    expect(await held()).toEqual(AT_SOURCE);
  });

  it("6.0 doubled: the instance has both allocations; a failure removes the destination's", async () => {
    await open({ version: 22 });
    await bench.run(task({ host: "devstack2" }));
    expect(await held()).toEqual({ instance: { devstack1: NEED, devstack2: NEED }, migration: {} });
    await open({ version: 22 });
    bench.agentReplies.delete(CHECK);
    await bench.run(task({ host: "devstack2", forced: true }));
    expect(state()).toEqual(UNCHANGED);
    expect(await held()).toEqual(AT_SOURCE);
  });
});

describe("6.6 unshelve", () => {
  const unshelve = () => bench.run({ ...base(), kind: "unshelve_instance", host: null });
  const base = () => ({ instanceUuid: instance.uuid, requestId: "req-unshelve" });

  it("from shelved: started on its host", async () => {
    await open();
    bench.store.instances.save(instance.uuid, { vmState: "shelved", taskState: "unshelving" });
    await unshelve();
    expect(bench.casts).toEqual([{ host: "devstack1", method: "start_instance", params: base() }]);
    expect(bench.instance(instance.uuid).taskState).toBe("powering-on");
  });

  const offloaded = async () => {
    await open();
    await bench.placement.deleteAllocation(instance.uuid, { force: true });
    const nowhere = { host: null, node: null, computeId: null };
    bench.store.instances.save(instance.uuid, { vmState: "shelved_offloaded", taskState: "unshelving", ...nowhere });
  };

  it("from offloaded: claimed, and the destination gets the message", async () => {
    await offloaded();
    await unshelve();
    const [cast] = bench.casts;
    expect(cast).toMatchObject({ method: "unshelve_instance", params: { ...base(), node: cast?.host } });
    expect(await bench.held(instance.uuid)).toEqual({ [cast?.host ?? ""]: NEED });
  });

  it("from offloaded, no host: task null, still offloaded, no allocations", async () => {
    await offloaded();
    for (const { id } of bench.store.services.list({})) {
      bench.store.services.update(id, { disabled: true });
    }
    await unshelve();
    expect(bench.instance(instance.uuid)).toMatchObject({ vmState: "shelved_offloaded", taskState: null });
    expect(await bench.held(instance.uuid)).toEqual({});
    expect(bench.casts).toEqual([]);
  });
});

describe("6.2 vm resized: confirmed on the source, then deleted", () => {
  const prepare = async () => {
    await open({ hosts: ["devstack1", "devstack2"] });
    const { uuid } = instance;
    const created = bench.store.migrations.create({
      instanceUuid: uuid,
      migrationType: "migration",
      status: "finished",
      changes: { sourceCompute: "devstack2", sourceNode: "devstack2" },
    });
    const [source] = bench.store.computeNodes.byHost("devstack2");
    const request = { allocations: { [source?.uuid ?? ""]: { resources: NEED } } };
    const owner = { consumer: created.uuid, projectId: "project", userId: "user" };
    await bench.placement.claimResources({ ...owner, request, version: "1.36", held: "replace" });
    bench.store.instances.save(uuid, { vmState: "resized", taskState: "deleting" });
    return created;
  };
  const remove = (migrationId: number) =>
    bench.run({ kind: "delete_resized", instanceUuid: instance.uuid, migrationId, requestId: "req-delete" });

  it("the destination gets the message only after the source has confirmed", async () => {
    const { id } = await prepare();
    bench.agentReplies.set("confirm_resize", ({ host }) => {
      expect(host).toBe("devstack2");
      expect(bench.casts).toEqual([]);
      bench.store.migrations.save(id, { status: "confirmed" });
      return null;
    });
    await remove(id);
    expect(bench.casts.map(({ host, method }) => [host, method])).toEqual([["devstack1", "terminate_instance"]]);
  });

  it("deletes the source allocations itself if the source is down", async () => {
    const { id, uuid } = await prepare();
    await remove(id);
    expect(bench.store.migrations.get(id)?.status).toBe("error");
    expect(await bench.held(uuid)).toEqual({});
    expect(bench.casts.map(({ method }) => method)).toEqual(["terminate_instance"]);
  });

  it("is a local delete if the destination is down as well", async () => {
    const { id } = await prepare();
    bench.store.services.update(bench.service("devstack1").id, { forcedDown: true });
    await remove(id);
    await bench.run();
    expect(bench.store.instances.get(instance.uuid)).toBeNull();
    expect(await bench.held(instance.uuid)).toEqual({});
  });
});
