import { beforeEach, describe, expect, it, test } from "vitest";
import type { ServerGroupPolicy } from "../../src/records/index.js";
import { MULTIPLIERS } from "../fixtures/scheduler-rules.js";
import { ConductorBench, NEED as NEED_OF_ONE } from "../unit/control-plane/conductor/tasks/bench.js";

let bench: ConductorBench;
let group: number;

beforeEach(async () => {
  bench = await ConductorBench.open();
});

function makeGroup(policy: ServerGroupPolicy, maxServerPerHost = 0): number {
  const owner = { projectId: "project", userId: "user", name: "g" };
  group = bench.store.serverGroups.create({ ...owner, policy, maxServerPerHost }).id;
  return group;
}

async function hosts(count: number): Promise<void> {
  for (let index = 1; index <= count; index += 1) {
    await bench.host(`devstack${index}`);
  }
}

function join(uuid: string): string {
  bench.store.serverGroups.addMember(group, uuid, "user");
  return uuid;
}

const request = () => join(bench.request());

async function member(host: string): Promise<string> {
  return join((await bench.server(host)).uuid);
}

/** Returns the hosts of the last messages. */
const sentTo = (from = 0) => bench.casts.slice(from).map(({ host }) => host);

const faultDetails = (uuid: string) => bench.store.instances.fault(uuid)?.details;

describe("6.9 the scheduler", () => {
  test("anti-affinity: as many as there are hosts, all asked for at once; the next finds none", async () => {
    makeGroup("anti-affinity");
    await hosts(6);
    const uuids = Array.from({ length: 7 }, request);
    await bench.run();
    expect(sentTo().toSorted()).toEqual(["devstack1", "devstack2", "devstack3", "devstack4", "devstack5", "devstack6"]);
    const last = uuids.filter((uuid) => bench.instance(uuid).vmState === "error");
    expect(last).toHaveLength(1);
    expect(faultDetails(last[0] ?? "")).toContain("6 are rejected by the anti-affinity policy of its server group.");
  });

  test("anti-affinity: max_server_per_host of them", async () => {
    makeGroup("anti-affinity", 2);
    await hosts(2);
    const uuids = Array.from({ length: 5 }, request);
    await bench.run();
    expect(sentTo().toSorted()).toEqual(["devstack1", "devstack1", "devstack2", "devstack2"]);
    expect(uuids.filter((uuid) => bench.instance(uuid).vmState === "error")).toHaveLength(1);
  });

  test("affinity: all where the first is, also when they are asked for at once; one that does not fit ends", async () => {
    makeGroup("affinity");
    await hosts(4);
    const uuids = Array.from({ length: 8 }, request);
    await bench.run();
    expect(new Set(sentTo()).size).toBe(1);
    expect(sentTo()).toHaveLength(8);
    const ninth = request();
    await bench.run();
    expect(bench.instance(ninth)).toMatchObject({ vmState: "error", host: null });
    expect(uuids).not.toContain(ninth);
  });

  test.each<[ServerGroupPolicy, number]>([
    ["soft-affinity", 1],
    ["soft-anti-affinity", 3],
  ])("%s: prefers, and does not refuse", async (policy, used) => {
    bench = await ConductorBench.open({ multipliers: { ...MULTIPLIERS, softAffinity: 5, softAntiAffinity: 5 } });
    makeGroup(policy);
    await hosts(3);
    for (let count = 0; count < 3; count += 1) {
      request();
      await bench.run();
    }
    expect(new Set(sentTo()).size).toBe(used);
    const more = Array.from({ length: 12 }, request);
    await bench.run();
    expect(more.filter((uuid) => bench.instance(uuid).vmState === "error")).toEqual([]);
  });

  test("servers of no group, and of another, do not count", async () => {
    makeGroup("anti-affinity");
    await hosts(2);
    await bench.server("devstack1");
    const other = group;
    makeGroup("anti-affinity");
    await member("devstack2");
    group = other;
    await member("devstack1");
    request();
    await bench.run();
    expect(sentTo()).toEqual(["devstack2"]);
  });

  test("a host that is named is refused like any other; one that is forced is not asked", async () => {
    makeGroup("anti-affinity");
    await hosts(2);
    await member("devstack1");
    const named = join(bench.request({ requestedHost: "devstack1" }));
    const forced = join(bench.request({ forcedHost: "devstack1" }));
    await bench.run();
    expect(faultDetails(named)).toContain("rejected by the anti-affinity policy of its server group");
    expect(bench.casts.map(({ host, params }) => [host, (params as { instanceUuid: string }).instanceUuid])).toEqual([
      ["devstack1", forced],
    ]);
  });

  test("a group that is deleted while a member is built holds it to nothing", async () => {
    makeGroup("anti-affinity");
    await hosts(1);
    await member("devstack1");
    const uuid = request();
    const { uuid: groupUuid } = bench.store.serverGroups.ofInstance(uuid) ?? expect.fail("no group");
    bench.store.serverGroups.destroy(groupUuid);
    await bench.run();
    expect(sentTo()).toEqual(["devstack1"]);
    expect(bench.casts[0]?.params).not.toHaveProperty("serverGroup");
  });

  test("a member that is deleted, or whose build has failed, makes room", async () => {
    makeGroup("anti-affinity");
    await hosts(1);
    const first = request();
    await bench.run();
    const second = request();
    await bench.run();
    expect(bench.instance(second).vmState).toBe("error");
    bench.store.instances.save(first, { vmState: "error", taskState: null });
    await bench.placement.deleteAllocation(first, { force: true, requestId: "req" });
    request();
    await bench.run();
    expect(sentTo()).toEqual(["devstack1", "devstack1"]);
  });
});

describe("6.9 reschedules", () => {
  test("the alternates that got a member meanwhile are passed over", async () => {
    makeGroup("anti-affinity");
    await hosts(3);
    const uuid = request();
    await bench.run();
    const { params } = bench.casts[0] ?? expect.fail("no cast");
    const { alternates, retry } = params as { alternates: { host: string }[]; retry: unknown };
    const [taken, free] = alternates.map(({ host }) => host);
    await member(taken ?? "");
    const again = { kind: "build_instances", instanceUuid: uuid, requestId: `req-${uuid}`, alternates, retry };
    await bench.run({ ...again, reason: "x" } as never);
    expect(sentTo(1)).toEqual([free]);
    expect(await bench.held(uuid)).toEqual({ [free ?? ""]: NEED_OF_ONE });
  });
});

describe("6.9 moves", () => {
  beforeEach(async () => {
    makeGroup("anti-affinity");
    await hosts(3);
  });

  /** Sets the task_state of its request, and runs the task. */
  async function run(uuid: string, taskState: string, task: object): Promise<void> {
    const requestId = `req-move-${uuid}`;
    bench.store.instances.save(uuid, { taskState: taskState as never, taskRequestId: requestId });
    await bench.run({ instanceUuid: uuid, requestId, ...task } as never);
  }
  const MIGRATE = { kind: "migrate_server", flavor: undefined, host: null };
  const migrate = (uuid: string) => run(uuid, "resize_prep", { ...MIGRATE, flavor: bench.instance(uuid).flavor });

  it("cold migration: to a host without members, and the message names the group", async () => {
    const [one] = [await member("devstack1"), await member("devstack2")];
    await migrate(one);
    expect(sentTo()).toEqual(["devstack3"]);
    expect(bench.casts[0]?.params).toMatchObject({
      serverGroup: bench.store.serverGroups.ofInstance(one)?.uuid,
    });
  });

  it("a member that is on its way, or could come back, keeps its hosts", async () => {
    const [one, two] = [await member("devstack1"), await member("devstack2")];
    await migrate(one);
    await migrate(two);
    expect(sentTo()).toEqual(["devstack3"]);
    expect(bench.instance(two)).toMatchObject({ vmState: "active", taskState: null, host: "devstack2" });
    expect(faultDetails(two)).toContain("No valid host was found");
  });

  it("evacuation: to a host without members; forced, the destination has the word", async () => {
    const [one] = [await member("devstack1"), await member("devstack2")];
    const accepted = (host: string | null) =>
      bench.store.migrations.create({
        instanceUuid: one,
        migrationType: "evacuation",
        status: "accepted",
        changes: { sourceCompute: "devstack1", sourceNode: "devstack1", destCompute: host },
      }).id;
    const evacuate = (host: string | null, forced: boolean) =>
      run(one, "rebuilding", {
        kind: "rebuild_instance",
        migrationId: accepted(host),
        host,
        forced,
        onSharedStorage: null,
        targetStopped: false,
      });
    await evacuate("devstack2", false);
    expect([sentTo(), bench.instance(one).vmState]).toEqual([[], "error"]);
    await evacuate(null, false);
    expect(sentTo()).toEqual(["devstack3"]);
    await bench.placement.claimResources({
      consumer: one,
      request: {
        allocations: {
          [bench.store.computeNodes.byHost("devstack1")[0]?.uuid ?? ""]: { resources: NEED_OF_ONE },
        },
      },
      projectId: "project",
      userId: "user",
      version: "1.36",
      held: "replace",
    });
    await evacuate("devstack2", true);
    expect(sentTo(1)).toEqual(["devstack2"]);
    expect(bench.casts[1]?.params).toHaveProperty("serverGroup");
  });

  it("unshelve: to a host without members", async () => {
    await member("devstack1");
    await member("devstack2");
    const three = await member("devstack3");
    const nowhere = { host: null, node: null, computeId: null, vmState: "shelved_offloaded" } as const;
    bench.store.instances.save(three, nowhere);
    await bench.placement.deleteAllocation(three, { force: true, requestId: "req" });
    await run(three, "unshelving", { kind: "unshelve_instance", host: null });
    expect(sentTo()).toEqual(["devstack3"]);
    expect(bench.casts[0]?.params).toHaveProperty("serverGroup");
  });
});

test("6.9 many members: one look at the group, whatever the number of hosts", async () => {
  makeGroup("anti-affinity", 40);
  await hosts(5);
  for (let index = 0; index < 100; index += 1) {
    request();
  }
  let readCount = 0;
  const places = bench.store.serverGroups.places.bind(bench.store.serverGroups);
  bench.store.serverGroups.places = (id) => {
    readCount += 1;
    return places(id);
  };
  const uuid = bench.store.tasks.pending()[0]?.task.instanceUuid ?? "";
  const spec = bench.store.requests.spec(uuid) ?? expect.fail("no spec");
  await bench.scheduler.selectDestination({ instanceUuid: uuid, spec, held: "replace", requestId: "req" });
  expect(readCount).toBe(1);
});
