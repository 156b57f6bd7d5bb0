import { beforeEach, describe, expect, it } from "vitest";
import type { ScheduleRequest } from "../../../../src/control-plane/scheduler/schedule-request.js";
import type { RequestSpec } from "../../../../src/records/index.js";
import { FULL } from "../../placement-client/bench.js";
import { ConductorBench, FLAVOR, NEED } from "../conductor/tasks/bench.js";

const I = "cccccccc-0000-4000-8000-000000000001";
const J = "cccccccc-0000-4000-8000-000000000002";
const SPEC: RequestSpec = {
  instanceUuid: I,
  projectId: "project",
  userId: "user",
  flavor: FLAVOR,
  imageRef: "",
  isBfv: false,
  availabilityZone: null,
  numInstances: 1,
  schedulerHints: {},
};

describe("scheduler", () => {
  let bench: ConductorBench;

  beforeEach(async () => {
    bench = await ConductorBench.open();
  });

  const select = (changes: Partial<ScheduleRequest> = {}) =>
    bench.scheduler.selectDestination({
      instanceUuid: I,
      spec: SPEC,
      held: "replace",
      requestId: "req-1",
      ...changes,
    });
  const chosen = async (changes: Partial<ScheduleRequest> = {}) => (await select(changes)).selection.host;
  const candidatesQuery = () => bench.placementBench.sent.find(({ path }) => path.includes("candidates"))?.path;

  it("5.5 asks for at most max_placement_results and refuses disabled roots; OWNER_NOVA once every agent is at 73", async () => {
    await bench.host("devstack1", { version: 72 });
    await bench.host("devstack2", { version: 73 });
    await select();
    expect(candidatesQuery()).toBe(
      "/allocation_candidates?limit=1000&resources=DISK_GB:1,MEMORY_MB:512,VCPU:1&root_required=!COMPUTE_STATUS_DISABLED",
    );
    bench.placementBench.mark();
    bench.store.services.update(bench.service("devstack1").id, { version: 73 });
    expect(await chosen()).toBe("devstack2");
    expect(candidatesQuery()).toContain("root_required=!COMPUTE_STATUS_DISABLED,OWNER_NOVA");
  });

  it("5.5 a requested single node adds in_tree", async () => {
    await bench.host("devstack1");
    const uuid = await bench.host("devstack2");
    expect(await chosen({ requestedHost: "devstack2" })).toBe("devstack2");
    expect(candidatesQuery()).toContain(`in_tree=${uuid}`);
  });

  it("COMPUTE_STATUS_DISABLED hides a host from Placement's candidates", async () => {
    const uuid = await bench.host("devstack1");
    await bench.host("devstack2");
    const { traits, generation } = await bench.placement.getProviderTraits(uuid);
    await bench.placement.setTraitsForProvider(uuid, { traits: [...traits, "COMPUTE_STATUS_DISABLED"], generation });
    for (let index = 0; index < 4; index += 1) {
      expect(await chosen()).toBe("devstack2");
    }
  });

  describe("filters", () => {
    beforeEach(async () => {
      await bench.host("devstack1");
      await bench.host("devstack2");
    });

    it("a rejected host is counted by its reason, and the other one is chosen", async () => {
      bench.store.services.update(bench.service("devstack1").id, { disabled: true });
      expect(await chosen()).toBe("devstack2");
      bench.placementBench.inject({
        on: "PUT /allocations",
        does: FULL,
      });
      await expect(select()).rejects.toMatchObject({
        explanation: expect.stringContaining("Of 2 hosts with room 1 is disabled, 1 had no room left when claimed."),
      });
    });

    it("providers without a compute node are no hosts, and the explanation mentions them", async () => {
      const uuids = ["devstack1", "devstack2"].map((host) => bench.store.computeNodes.byHost(host)[0]?.uuid);
      for (const host of ["devstack1", "devstack2"]) {
        const [node] = bench.store.computeNodes.byHost(host);
        if (node) {
          bench.store.computeNodes.destroy(node.id, host);
        }
      }
      await expect(select()).rejects.toMatchObject({
        explanation: expect.stringContaining("2 resource providers fit, but no compute node belongs to them"),
      });
      await bench.placement.deleteResourceProvider(uuids[0] ?? "");
      await expect(select()).rejects.toMatchObject({
        explanation: expect.stringContaining("; 1 resource providers fit"),
      });
    });
  });

  describe("weighing", () => {
    it("prefers free memory and free CPUs, as Placement counts them now", async () => {
      await bench.host("small", { memoryMb: 2048, vcpus: 4 });
      await bench.host("large", { memoryMb: 8192, vcpus: 16 });
      expect(await chosen()).toBe("large");
      await bench.placement.claimResources({
        consumer: J,
        request: {
          allocations: {
            [bench.store.computeNodes.byHost("large")[0]?.uuid ?? ""]: { resources: { VCPU: 14, MEMORY_MB: 7168 } },
          },
        },
        projectId: "project",
        userId: "user",
        version: "1.36",
        held: "double",
      });
      await bench.placement.deleteAllocation(I, { force: true });
      expect(await chosen()).toBe("small");
    });
    it("selects randomly among equal hosts; the same seed selects the same one", async () => {
      for (const host of ["devstack1", "devstack2", "devstack3"]) {
        await bench.host(host);
      }
      const hosts = [];
      for (let index = 0; index < 20; index += 1) {
        hosts.push(await chosen());
        await bench.placement.deleteAllocation(I, { force: true });
      }
      expect(new Set(hosts).size).toBe(3);
      const other = await ConductorBench.open();
      for (const host of ["devstack1", "devstack2", "devstack3"]) {
        await other.host(host);
      }
      const first = await other.scheduler.selectDestination({
        instanceUuid: I,
        spec: SPEC,
        held: "replace",
        requestId: "req-1",
      });
      expect(first.selection.host).toBe(hosts[0]);
    });
  });

  it("6.1 row 2: the alternates are at most max_attempts - 1 others, the next best first, and are not claimed", async () => {
    for (const [host, memoryMb] of Object.entries({ a: 4096, b: 3072, c: 2048, d: 1024 })) {
      await bench.host(host, { memoryMb });
    }
    const { selection, alternates } = await select();
    expect([selection, ...alternates].map(({ host }) => host)).toEqual(["a", "b", "c"]);
    expect(await bench.held(I)).toEqual({ a: NEED });
  });

  it("a server that boots from a volume needs no root disk", async () => {
    await bench.host("devstack1");
    await select({ spec: { ...SPEC, isBfv: true } });
    expect(candidatesQuery()).toContain("resources=MEMORY_MB:512,VCPU:1&");
  });

  it("no host left: the claim of a lost response is removed, unless the instance has other allocations", async () => {
    await bench.host("devstack1");
    for (const [held, requests] of [
      ["replace", ["PUT", "DELETE"]],
      ["double", ["PUT"]],
    ] as const) {
      bench.placementBench.mark();
      bench.placementBench.inject({ on: "PUT /allocations", does: FULL });
      await expect(select({ held })).rejects.toMatchObject({
        explanation: expect.stringContaining("Of 1 host with room 1 had no room left when claimed."),
      });
      expect(bench.placementBench.sent.map(({ method }) => method).filter((method) => method !== "GET")).toEqual(
        requests,
      );
    }
  });

  it("Placement goes away between candidates and claim: no other host is tried", async () => {
    await bench.host("devstack1");
    await bench.host("devstack2");
    bench.placementBench.inject({ on: "PUT /allocations", does: "refuse", times: 2 });
    await expect(select()).rejects.toMatchObject({
      explanation: expect.stringContaining("Placement is unavailable"),
    });
    expect(await bench.held(I)).toEqual({});
  });

  it("a requested node is found by name, only on the requested host", async () => {
    const uuid = await bench.host("devstack1");
    await bench.host("devstack2");
    const trees = async (request: Partial<ScheduleRequest>) => {
      bench.placementBench.mark();
      await select(request).catch(() => undefined);
      return /in_tree=([^&]*)/.exec(candidatesQuery() ?? "")?.[1];
    };
    expect(await trees({ requestedNode: "devstack1" })).toBe(uuid);
    expect(await trees({ requestedHost: "devstack1", requestedNode: "devstack1" })).toBe(uuid);
    expect(await trees({ requestedHost: "devstack2", requestedNode: "devstack1" })).toBeUndefined();
    expect(await trees({ requestedHost: "devstack9" })).toBeUndefined();
    expect(await trees({})).toBeUndefined();
  });

  it("Placement is unavailable: NoValidHost explains it", async () => {
    await bench.host("devstack1");
    bench.placementBench.inject({ on: "GET /allocation_candidates", does: "refuse" });
    await expect(select()).rejects.toMatchObject({
      explanation: expect.stringContaining("Placement is unavailable"),
    });
  });
});
