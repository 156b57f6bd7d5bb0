import { beforeEach, describe, expect, it } from "vitest";
import type { Selection } from "../../../../../src/records/index.js";
import { type Cast, ConductorBench, NEED } from "../../../../unit/control-plane/conductor/tasks/bench.js";
import { errorResponse } from "../../../../unit/placement-client/bench.js";

function alternatesOf(cast: Cast | undefined): Selection[] {
  return cast ? (cast.params as { alternates: Selection[] }).alternates : expect.fail("no cast");
}

const FULL = errorResponse(409, "placement.undefined_code", "Unable to allocate inventory");

describe("6.1 build", () => {
  let bench: ConductorBench;

  beforeEach(async () => {
    bench = await ConductorBench.open();
  });

  it("row 2, 3: claims one destination, makes the instance, and casts to its agent with alternates and retry", async () => {
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

  it("row 3: the instance has its ports from the write on that makes it", async () => {
    await bench.host("devstack1");
    const { securityGroups, ports } = bench.store;
    const group = securityGroups.ensureDefault("project").uuid;
    const uuid = bench.request({ ports: [{}, { address: "10.0.0.9", tag: "nic" }], securityGroups: [group] });
    await bench.run();
    expect(ports.ofDevice(uuid)).toMatchObject([
      { securityGroups: [group], tag: null, host: null, projectId: bench.instance(uuid)?.projectId },
      { securityGroups: [group], tag: "nic" },
    ]);
  });

  it.each(["a port that another server has", "a group that is gone"])(
    "row 3, %s: as without candidates",
    async (what) => {
      await bench.host("devstack1");
      const gone = "c0ffee00-0000-4000-8000-000000000099";
      const networkRequest = what.startsWith("a port")
        ? { ports: [{ port: gone }] }
        : { ports: [{}], securityGroups: [gone] };
      const uuid = bench.request(networkRequest);
      await bench.run();
      expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null, host: null });
      expect(bench.store.mappings.instance(uuid)?.cell).toBe("cell0");
      expect(bench.store.instances.fault(uuid)?.message).toMatch(
        /^Build of instance .* aborted: .*(not be found|not exist)/,
      );
      expect(await bench.held(uuid)).toEqual({});
      expect(bench.store.ports.list()).toEqual([]);
      expect(bench.casts).toEqual([]);
      expect(bench.store.tasks.pending()).toEqual([]);
    },
  );

  it("row 2, no candidates: the instance is buried in cell0 with Nova's text and the reason in the details, and holds nothing", async () => {
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

  it("row 2, Placement away: cell0, and what the lost claim left is deleted when Placement answers", async () => {
    await bench.host("devstack1");
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose", times: 2 });
    const uuid = bench.request();
    await bench.run();
    expect(bench.instance(uuid).vmState).toBe("error");
    expect(await bench.held(uuid)).toEqual({});
  });

  it("9.4 answer to the claim lost after commit: claimed again as a whole, one tree, one build", async () => {
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.placementBench.inject({ on: "PUT /allocations", does: "lose" });
    const uuid = bench.request();
    await bench.run();
    expect(bench.casts).toHaveLength(1);
    expect(await bench.held(uuid)).toEqual({ [bench.casts[0]?.host ?? ""]: NEED });
  });

  it("row 3, build request deleted before: nothing is claimed, nothing made", async () => {
    await bench.host("devstack1");
    const uuid = bench.request();
    bench.store.requests.destroyBuildRequest(uuid);
    await bench.run();
    expect(bench.store.instances.get(uuid)).toBeNull();
    expect(bench.placementBench.requests().some((request) => request.includes("candidates"))).toBe(false);
    expect(bench.casts).toEqual([]);
  });

  it("row 3, run again when it was handed over: what the agent builds with stays", async () => {
    await bench.host("devstack1");
    const uuid = bench.request();
    await bench.run();
    await bench.run({ kind: "build_instances", instanceUuid: uuid, requestId: `req-${uuid}` });
    expect(await bench.held(uuid)).toEqual({ devstack1: NEED });
    expect(bench.casts).toHaveLength(1);
  });

  it("row 3, build request deleted while it was scheduled: the claim is deleted by force", async () => {
    await bench.host("devstack1");
    const uuid = bench.request();
    bench.placementBench.inject({
      on: "PUT /allocations",
      does: () => {
        bench.store.requests.destroyBuildRequest(uuid);
      },
    });
    await bench.run();
    expect(await bench.held(uuid)).toEqual({});
    expect(bench.store.instances.get(uuid)).toBeNull();
    expect(bench.casts).toEqual([]);
    expect(bench.store.tasks.pending()).toEqual([]);
  });

  it("one forced host: no retry information; the host's state is not asked", async () => {
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.store.services.update(bench.service("devstack2").id, { forcedDown: true });
    bench.request({ forcedHost: "devstack2" });
    await bench.run();
    expect(bench.casts).toMatchObject([{ host: "devstack2", params: { alternates: [] } }]);
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it.each(["requestedHost", "requestedNode"])(
    "2.74 %s is filtered as any other, and no other is taken",
    async (key) => {
      await bench.host("devstack1", { vcpus: 64 });
      await bench.host("devstack2");
      const good = bench.request({ [key]: "devstack2" });
      await bench.run();
      expect(bench.casts).toMatchObject([{ host: "devstack2", params: { retry: { numAttempts: 1 } } }]);
      expect(bench.store.instances.get(good)).not.toBeNull();
      bench.store.services.update(bench.service("devstack2").id, { forcedDown: true });
      const bad = bench.request({ [key]: "devstack2" });
      await bench.run();
      expect(bench.casts).toHaveLength(1);
      expect(bench.store.instances.get(bad)?.vmState).toBe("error");
    },
  );

  it("max_attempts 1: no retry information, no alternates", async () => {
    bench = await ConductorBench.open({ maxAttempts: 1 });
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.request();
    await bench.run();
    expect(bench.casts[0]?.params).toMatchObject({ alternates: [] });
    expect(bench.casts[0]?.params).not.toHaveProperty("retry");
  });

  it("conductor killed after the claim: run again, it holds one tree only and is built once", async () => {
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

  it("an unexpected failure of the scheduling: cell0 with the fault, never a stuck build", async () => {
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

    it("claims the first alternate that has room, without asking for candidates", async () => {
      await bench.run(again(1));
      const [first, second] = alternates;
      expect(bench.casts).toMatchObject([
        {
          host: first?.host,
          params: {
            alternates: [{ host: second?.host }],
            retry: {
              numAttempts: 2,
              hosts: [
                ["devstack9", "devstack9"],
                [first?.host, first?.node],
              ],
            },
          },
        },
      ]);
      expect(await bench.held(uuid)).toEqual({ [first?.host ?? ""]: NEED });
      expect(bench.placementBench.requests().some((request) => request.includes("candidates"))).toBe(false);
    });

    it("takes the next alternate when the first is full", async () => {
      bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
      await bench.run(again(1));
      expect(bench.casts).toMatchObject([{ host: alternates[1]?.host, params: { alternates: [] } }]);
    });

    it("none left, all full, or too many attempts: MaxRetriesExceeded, vm error, nothing held", async () => {
      const exhausted = async (text: string) => {
        expect(bench.instance(uuid)).toMatchObject({ vmState: "error", taskState: null });
        const message = `Exceeded maximum number of retries. ${text}`;
        expect(bench.store.instances.fault(uuid)?.message).toBe(message);
        expect(await bench.held(uuid)).toEqual({});
        expect(bench.casts).toEqual([]);
      };
      const none = `Exhausted all hosts available for retrying build failures for instance ${uuid}.`;
      await bench.run(again(1, []));
      await exhausted(none);
      bench.placementBench.inject({ on: "PUT /allocations", does: FULL, times: 2 });
      await bench.run(again(1));
      await exhausted(none);
      await bench.run(again(3));
      await exhausted(`Exceeded max scheduling attempts 3 for instance ${uuid}. Last exception: spawn failed`);
    });

    it("a delete whose task_state the host that gave up has taken: carried out, and nothing is cast", async () => {
      bench.store.instances.save(uuid, { taskState: "deleting", taskRequestId: "req-delete" });
      bench.store.instances.save(uuid, { taskState: "scheduling", taskRequestId: `req-${uuid}` });
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      expect(bench.instance(uuid)).toMatchObject({ taskState: "deleting", taskRequestId: "req-delete" });
      await bench.run();
      expect(bench.store.instances.get(uuid)).toBeNull();
      expect(await bench.held(uuid)).toEqual({});
    });

    it("deleted meanwhile: what is held goes, nothing is cast", async () => {
      bench.store.instances.save(uuid, { taskState: "deleting" });
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      bench.store.instances.destroy(uuid);
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      expect(await bench.held(uuid)).toEqual({});
    });

    it("deleted while the alternate was claimed: the claim is deleted by force", async () => {
      bench.placementBench.inject({
        on: "PUT /allocations",
        does: () => {
          bench.store.instances.save(uuid, { taskState: "deleting" });
        },
      });
      await bench.run(again(1));
      expect(bench.casts).toEqual([]);
      expect(await bench.held(uuid)).toEqual({});
    });
  });
});
