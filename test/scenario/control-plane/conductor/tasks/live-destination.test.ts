import { describe, expect, it } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import { FLAVOR, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import {
  CHECK,
  EVENT,
  forced,
  getHostCalls,
  guest,
  rejectedOutcome,
  taskOf,
} from "../../../../unit/control-plane/conductor/tasks/live-guest.js";
import { forgetNode, holds, type Operated } from "../../../../unit/control-plane/conductor/tasks/operated.js";
import { getExternalCalls, outcome, stepsOf } from "../../../../unit/control-plane/conductor/tasks/transcript.js";
import { errorResponse, FULL } from "../../../../unit/placement-client/bench.js";

describe("6.5 row 4: unsuitable hosts", () => {
  const spoil = (
    { bench }: Operated,
    host: string,
    changes: { hypervisorType?: string; hypervisorVersion?: number },
  ) => {
    const [node] = bench.store.computeNodes.byHost(host);
    bench.store.computeNodes.save(node?.id ?? 0, changes);
  };

  it("each is tried once and loses its claim, then the next is claimed", async () => {
    const world = await guest({ hosts: 3 });
    let calls = 0;
    world.bench.agentReplies.set(CHECK, ({ host }) => {
      calls += 1;
      if (calls === 1) {
        throw new ConductorError("ConductorError", "the CPU lacks avx512");
      }
      return { found: host };
    });
    const lines = await stepsOf(world.bench, taskOf(world));
    const [first, second] = getHostCalls(lines).map((line) => line.replace(/.* of /, ""));
    expect(new Set([first, second])).toEqual(new Set(["devstack2", "devstack3"]));
    expect(getExternalCalls(lines).slice(5)).toEqual([
      "GET /allocation_candidates",
      "GET /allocations/I",
      "PUT /allocations/I",
      `call ${CHECK} of ${first}`,
      "GET /allocations/I",
      "GET /resource_providers",
      "PUT /allocations/I",
      "GET /allocation_candidates",
      "GET /allocations/I",
      "PUT /allocations/I",
      `call ${CHECK} of ${second}`,
      "cast live_migration of devstack1",
    ]);
    expect(await world.bench.held(world.instance.uuid)).toEqual({ [second ?? ""]: NEED });
  });

  it.each([
    ["of another type", { hypervisorType: "qemu" }, "The supplied hypervisor type of is invalid."],
    [
      "that is older",
      { hypervisorVersion: 999 },
      "The instance requires a newer hypervisor version than has been provided.",
    ],
  ])("a hypervisor %s is not called", async (_what, changes, message) => {
    const world = await guest();
    spoil(world, "devstack2", changes);
    const none = "No valid host was found. There are not enough hosts available.";
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(outcome(lines)).toEqual(rejectedOutcome(none));
    expect(getHostCalls(lines)).toEqual([]);
    const other = await guest();
    spoil(other, "devstack2", changes);
    const byForce = await stepsOf(other.bench, forced(other));
    expect(outcome(byForce)).toEqual(rejectedOutcome(message, { destCompute: "devstack2" }));
    expect(getHostCalls(byForce)).toEqual([]);
  });

  it("a host whose node is deleted during the claim is unsuitable", async () => {
    const world = await guest({ hosts: 3 });
    const [, , third] = ["devstack1", "devstack2", "devstack3"];
    world.bench.store.services.update(world.bench.service(third ?? "").id, { disabled: true });
    const does = () => forgetNode(world, "devstack2");
    world.bench.placementBench.inject({ on: `PUT /allocations/${world.instance.uuid}`, does });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getHostCalls(lines)).toEqual([]);
    expect(outcome(lines)).toMatchObject({ instance: { taskState: null }, "migration M1": { status: "error" } });
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("the claim of an unsuitable host is removed despite a concurrent write", async () => {
    const world = await guest({ hosts: 3 });
    let calls = 0;
    world.bench.agentReplies.set(CHECK, () => {
      calls += 1;
      if (calls === 1) {
        throw new ConductorError("ConductorError", "no");
      }
      return {};
    });
    const does = errorResponse(409, "placement.concurrent_update", "another");
    world.bench.placementBench.inject({ on: `PUT /allocations/${world.instance.uuid}`, does, skip: 1 });
    await stepsOf(world.bench, taskOf(world));
    expect(Object.keys(await world.bench.held(world.instance.uuid))).toEqual([
      world.bench.casts.map(({ params }) => (params as { dest: string }).dest)[0],
    ]);
  });

  it("the claim has the instance's flavor, not that of its request spec", async () => {
    const world = await guest();
    world.bench.store.instances.save(world.instance.uuid, { flavor: { ...FLAVOR, memoryMb: 1024 } });
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(lines).toContainEqual(["PUT /allocations/I", { devstack2: { ...NEED, MEMORY_MB: 1024 } }]);
  });

  it("a newer hypervisor is suitable", async () => {
    const world = await guest();
    spoil(world, "devstack2", { hypervisorVersion: 1001 });
    await stepsOf(world.bench, taskOf(world));
    expect(world.bench.casts).toHaveLength(1);
  });

  it.each([
    [0, 1],
    [1, 2],
    [2, 3],
    [-1, 3],
  ])("migrate_max_retries %i: %i of three are tried", async (retries, tried) => {
    const world = await guest({ hosts: 4 });
    world.bench.agentReplies.delete(CHECK);
    world.bench.settings.migrateMaxRetries = retries;
    await world.bench.restart();
    const lines = await stepsOf(world.bench, taskOf(world));
    expect(getHostCalls(lines)).toHaveLength(tried);
    const why =
      retries < 0
        ? "No valid host was found. There are not enough hosts available."
        : `Exceeded maximum number of retries. Exceeded max scheduling retries ${tried} for instance I during live migration`;
    expect(outcome(lines)).toEqual(rejectedOutcome(why));
    const isNamed = lines.some(([, particulars]) => JSON.stringify(particulars) === '{"status":"failed"}');
    expect(isNamed, "status failed before error").toBe(retries >= 0);
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });

  it("without a request spec none can be chosen, and the instance is in error", async () => {
    const world = await guest();
    world.bench.store.database.run("DELETE FROM request_specs");
    const message = "the request spec of instance I is gone";
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toMatchObject({
      instance: { vmState: "error", taskState: null },
      fault: { message },
      events: [`${EVENT} Error (${message})`],
    });
  });

  it("without the source's node hypervisors cannot be compared", async () => {
    const world = await guest();
    forgetNode(world, "devstack1");
    const why = "Compute service of devstack1 is unavailable at this time.";
    expect(outcome(await stepsOf(world.bench, taskOf(world)))).toEqual(rejectedOutcome(why));
  });
});

describe("6.5 row 4f: an unsuitable forced host", () => {
  const UNABLE = "No valid host was found. Unable to move instance I to host devstack2. ";
  const COMPLEX = `${UNABLE}The instance has complex allocations on the source host so move cannot be forced.`;

  it.each([
    ["the source", "devstack1", "Unable to migrate instance (I) to current host (devstack1)."],
    ["a host without a node", "devstack9", "Compute service of devstack9 is unavailable at this time."],
  ])("%s is rejected", async (_what, host, message) => {
    const world = await guest();
    const lines = await stepsOf(world.bench, forced(world, host));
    expect(outcome(lines)).toEqual(rejectedOutcome(message, { destCompute: host }));
    expect(getExternalCalls(lines)).not.toContain("PUT /allocations/I");
  });

  it("a host whose agent is down is rejected", async () => {
    const world = await guest();
    world.bench.store.services.update(world.bench.service("devstack2").id, { forcedDown: true });
    const { fault } = outcome(await stepsOf(world.bench, forced(world)));
    expect(fault).toMatchObject({ message: "Compute service of devstack2 is unavailable at this time." });
  });

  it.each([
    [4096, 1, 513, true],
    [4096, 1, 512, false],
    [4096, 1.5, 0, true],
    [4096, 0.5, 2000, false],
  ])("memory: of %i times %d, %i is free", async (memoryMb, ramAllocationRatio, freeRamMb, goes) => {
    const world = await guest();
    const [node] = world.bench.store.computeNodes.byHost("devstack2");
    world.bench.store.computeNodes.save(node?.id ?? 0, { memoryMb, ramAllocationRatio, freeRamMb });
    const { fault = null } = outcome(await stepsOf(world.bench, forced(world)));
    const available = memoryMb * ramAllocationRatio - (memoryMb - freeRamMb);
    const message = `Migration pre-check error: Unable to migrate I to devstack2: Lack of memory(host:${available} <= instance:512)`;
    expect(fault).toEqual(goes ? null : { code: 500, message, host: "conductor" });
  });

  it("a full host is rejected", async () => {
    const world = await guest();
    world.bench.placementBench.inject({ on: `PUT /allocations/${world.instance.uuid}`, does: FULL });
    const message = `${UNABLE}There is not enough capacity on the host for the instance.`;
    expect(outcome(await stepsOf(world.bench, forced(world)))).toEqual(
      rejectedOutcome(message, { destCompute: "devstack2" }),
    );
  });

  it("allocations on several providers or on none cannot be copied", async () => {
    const world = await guest({ hosts: 3 });
    await holds(world, world.instance.uuid, "devstack1", "devstack3");
    expect(outcome(await stepsOf(world.bench, forced(world))).fault).toMatchObject({ message: COMPLEX });
    const bare = await guest();
    await bare.bench.placement.deleteAllocation(bare.instance.uuid, { force: true });
    expect(outcome(await stepsOf(bare.bench, forced(bare))).fault).toMatchObject({ message: COMPLEX });
  });

  it("a host that rejects the check loses its claim, and no other is tried", async () => {
    const world = await guest({ hosts: 3 });
    world.bench.agentReplies.set(CHECK, () => {
      throw new ConductorError("ConductorError", "the CPU lacks avx512");
    });
    const lines = await stepsOf(world.bench, forced(world));
    const message = "Migration pre-check error: the CPU lacks avx512";
    expect(outcome(lines)).toEqual(rejectedOutcome(message, { destCompute: "devstack2" }));
    expect(getHostCalls(lines)).toHaveLength(1);
    expect(await world.bench.held(world.instance.uuid)).toEqual({ devstack1: NEED });
  });
});
