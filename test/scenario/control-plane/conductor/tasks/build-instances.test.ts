import { beforeEach, describe, expect, it } from "vitest";
import type { Selection } from "../../../../../src/records/index.js";
import { NETWORK_ID } from "../../../../fixtures/test-network.js";
import { type Cast, ConductorBench, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { errorResponse, FULL } from "../../../../unit/placement-client/bench.js";

function alternatesOf(cast: Cast | undefined): Selection[] {
  return cast ? (cast.params as { alternates: Selection[] }).alternates : expect.fail("no cast");
}

describe("6.1 build", () => {
  let bench: ConductorBench;

  beforeEach(async () => {
    bench = await ConductorBench.open();
  });

  it("row 2, 3: claims one destination, creates the instance, and casts to its agent with alternates and retry", async () => {
    for (const host of ["devstack1", "devstack2", "devstack3", "devstack4"]) {
      await bench.host(host);
    }
    const uuid = bench.request();
    await bench.run();
    const [cast] = bench.casts;
    const { host } = cast ?? expect.fail("no cast");
    expect(await bench.held(uuid)).toEqual({ [host]: NEED });
    expect(bench.instance(uuid)).toMatchObject({ vmState: "building", taskState: "scheduling", host: null });
    expect(cast).toMatchObject({
      method: "build_and_run_instance",
      params: {
        instanceUuid: uuid,
        node: host,
        allocations: { [bench.store.computeNodes.byHost(host)[0]?.uuid ?? ""]: { resources: NEED } },
        alternates: [{ allocationRequestVersion: "1.36" }, {}],
        retry: { numAttempts: 1, hosts: [[host, host]] },
        requestId: `req-${uuid}`,
      },
    });
    const alternates = alternatesOf(cast).map((selection) => selection.host);
    expect(new Set([host, ...alternates]).size).toBe(3);
    expect(bench.store.mappings.instance(uuid)?.cell).toBe("cell1");
    expect(bench.store.requests.buildRequest(uuid)).toBeNull();
    expect(bench.store.actions.list(uuid)).toMatchObject([
      { action: "create", requestId: `req-${uuid}`, message: null },
    ]);
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("row 3: the instance has its ports in the transaction that creates it", async () => {
    await bench.host("devstack1");
    const { securityGroups, ports } = bench.network;
    const group = securityGroups.find("project", "default")[0]?.id ?? "";
    const uuid = bench.request({
      ports: [{ network: NETWORK_ID }, { network: NETWORK_ID, address: "10.0.0.9", tag: "nic" }],
      securityGroups: [group],
    });
    await bench.run();
    expect(ports.ofServer(uuid)).toMatchObject([
      { securityGroupIds: [group], tag: null, host: null, projectId: bench.instance(uuid)?.projectId },
      { securityGroupIds: [group], tag: "nic", fixedIps: [{ address: "10.0.0.9" }] },
    ]);
  });

  it.each(["a port that another server has", "a group that is gone"])(
    "row 3, %s: the instance is in cell0, as without candidates",
    async (what) => {
      await bench.host("devstack1");
      const gone = "c0ffee00-0000-4000-8000-000000000099";
      const networkRequest = what.startsWith("a port")
        ? { ports: [{ port: gone }] }
        : { ports: [{ network: NETWORK_ID }], securityGroups: [gone] };
      const uuid = bench.request(networkRequest);
      await bench.run();
      expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null, host: null });
      expect(bench.store.mappings.instance(uuid)?.cell).toBe("cell0");
      expect(bench.store.instances.fault(uuid)?.message).toMatch(
        /^Build of instance .* aborted: .*(not be found|not exist)/,
      );
      expect(await bench.held(uuid)).toEqual({});
      expect(bench.network.ports.ofServer(uuid)).toEqual([]);
      expect(bench.casts).toEqual([]);
      expect(bench.store.tasks.pending()).toEqual([]);
    },
  );

  it("row 2, no candidates: the instance is in cell0 with Nova's message as the fault, the reason in the details, and no allocations", async () => {
    const uuid = bench.request();
    await bench.run();
    expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null, host: null });
    expect(bench.store.mappings.instance(uuid)?.cell).toBe("cell0");
    expect(bench.store.instances.fault(uuid)).toMatchObject({
      code: 500,
      message: "No valid host was found. There are not enough hosts available.",
      details: expect.stringMatching(
        /^No host has VCPU=1, MEMORY_MB=512, DISK_GB=1 free and an enabled compute service\.\nNoValidHost: No valid host /,
      ),
    });
    const [action] = bench.store.actions.list(uuid);
    expect(action).toMatchObject({ action: "create", message: "Error" });
    expect(bench.store.actions.events(action?.id ?? 0)).toMatchObject([
      { event: "conductor_schedule_and_build_instances", result: "Error" },
    ]);
    expect(bench.casts).toEqual([]);
    expect(await bench.held(uuid)).toEqual({});
  });

  it("row 2, the best host fills up before the claim: the next one is claimed", async () => {
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
    const uuid = bench.request();
    await bench.run();
    expect(bench.casts).toHaveLength(1);
    expect(Object.keys(await bench.held(uuid))).toEqual([bench.casts[0]?.host]);
  });

  it("row 2, Placement unreachable: cell0, and a claim whose response was lost is deleted later", async () => {
    await bench.host("devstack1");
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose", times: 2 });
    const uuid = bench.request();
    await bench.run();
    expect(bench.instance(uuid).vmState).toBe("error");
    expect(await bench.held(uuid)).toEqual({});
  });

  it("9.4 the response to the claim is lost after the commit: claimed again completely, one provider, one build", async () => {
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose" });
    const uuid = bench.request();
    await bench.run();
    expect(bench.casts).toHaveLength(1);
    expect(await bench.held(uuid)).toEqual({ [bench.casts[0]?.host ?? ""]: NEED });
  });
  it("max_attempts 1: neither retry information nor alternates", async () => {
    bench = await ConductorBench.open({ maxAttempts: 1 });
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.request();
    await bench.run();
    expect(bench.casts[0]?.params).toMatchObject({ alternates: [] });
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("conductor killed after the claim: the next run leaves allocations on one provider and one build", async () => {
    for (const host of ["devstack1", "devstack2", "devstack3"]) {
      await bench.host(host);
    }
    const uuid = bench.request();
    const lost = new Promise(() => undefined);
    bench.placementBench.inject({
      on: "PUT /allocations",
      does: async () => {
        // The claim of the killed run is on a host that the next run cannot choose.
        const node = bench.store.computeNodes.byHost("devstack3")[0]?.uuid ?? "";
        await bench.placementBench.ask("PUT", `/allocations/${uuid}`, "1.28", {
          allocations: { [node]: { resources: NEED } },
          project_id: "project",
          user_id: "user",
          consumer_generation: null,
        });
        await lost;
      },
    });
    void bench.run();
    await new Promise<void>((resolve) => setImmediate(resolve));
    bench.store.services.update(bench.service("devstack3").id, { disabled: true });
    await bench.restart();
    expect(bench.casts).toHaveLength(1);
    expect(await bench.held(uuid)).toEqual({ [bench.casts[0]?.host ?? ""]: NEED });
    expect(bench.casts[0]?.host).not.toBe("devstack3");
  });

  it("an unexpected error of the scheduler: cell0 with the fault, and no stuck build", async () => {
    await bench.host("devstack1");
    bench.placementBench.inject({ on: "GET /allocations", does: errorResponse(500, "", "database is locked") });
    const uuid = bench.request();
    await bench.run();
    expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null });
    expect(bench.store.instances.fault(uuid)?.message).toContain("database is locked");
  });

  describe("reschedule", () => {
    let alternates: Selection[];
    let uuid: string;

    beforeEach(async () => {
      for (const host of ["devstack1", "devstack2", "devstack3"]) {
        await bench.host(host);
      }
      uuid = bench.request();
      await bench.run();
      const [cast] = bench.casts.splice(0);
      alternates = alternatesOf(cast);
      await bench.placement.deleteAllocation(uuid, { force: true });
      bench.placementBench.mark();
    });

    const again = (numAttempts: number, left = alternates) => ({
      kind: "build_instances" as const,
      instanceUuid: uuid,
      requestId: `req-${uuid}`,
      alternates: left,
      retry: { numAttempts, hosts: [["devstack9", "devstack9"] as const] },
      reason: "spawn failed",
    });
    it("a delete whose task_state the failed host has overwritten is carried out, and nothing is cast", async () => {
      bench.store.instances.save(uuid, { taskState: "deleting", taskRequestId: "req-delete" });
      bench.store.instances.save(uuid, { taskState: "scheduling", taskRequestId: `req-${uuid}` });
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      expect(bench.instance(uuid)).toMatchObject({ taskState: "deleting", taskRequestId: "req-delete" });
      await bench.run();
      expect(bench.store.instances.get(uuid)).toBeNull();
      expect(await bench.held(uuid)).toEqual({});
    });

    it("deleted meanwhile: its allocations are deleted, and nothing is cast", async () => {
      bench.store.instances.save(uuid, { taskState: "deleting" });
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      bench.store.instances.destroy(uuid);
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      expect(await bench.held(uuid)).toEqual({});
    });
  });
});
