import fc from "fast-check";
import { beforeEach, describe, expect, it } from "vitest";
import { inProcessHttp } from "../../../../../src/control-plane/cluster-placement.js";
import { EventLoopTicks } from "../../../../../src/control-plane/event-loop.js";
import type { CandidatesGroup, CandidatesQuery } from "../../../../../src/placement-client/types.js";
import type { ServiceRequest, ServiceResponse } from "../../../../../src/runtime/http-server.js";
import { createVirtualRuntime } from "../../../../../src/simulation/virtual-world.js";
import { reportClientOf } from "../../../../fixtures/world/report-client.js";
import { aggregate, uuid, World } from "../world.js";

const ENDPOINT = "http://placement.test";

describe("candidates as records", () => {
  let world: World;
  let responses: ServiceResponse[];
  const runtime = createVirtualRuntime();

  beforeEach(() => {
    world = new World();
    responses = [];
  });

  function client(changes: Partial<ServiceRequest>, headers: Readonly<Record<string, string>> = {}) {
    const http = inProcessHttp(
      ENDPOINT,
      (request) => {
        const response = world.placement.handle({
          ...request,
          headers: { ...request.headers, ...headers },
          ...changes,
        });
        responses.push(response);
        return response;
      },
      new EventLoopTicks(runtime),
    );
    return reportClientOf(ENDPOINT, { ...runtime, http });
  }

  /** Returns the candidates that the scheduler reads, as JSON and as records. */
  async function both(groups: readonly CandidatesGroup[], more: Partial<CandidatesQuery> = {}) {
    const query = { groups, rootRequired: [], limit: 1000, ...more };
    const read = async (changes: Partial<ServiceRequest>) => {
      const found = await client(changes).getAllocationCandidates(query);
      const { allocationRequests, providerSummaries, version } = found ?? expect.unreachable();
      return { rendered: JSON.stringify([allocationRequests, [...providerSummaries], version]), roots: found?.roots };
    };
    const { rendered: text } = await read({ takesRecords: false });
    const { rendered: records, roots } = await read({});
    return { text, records, roots };
  }

  async function expectSame(...query: Parameters<typeof both>): Promise<string> {
    const { text, records } = await both(...query);
    expect(records).toBe(text);
    return records;
  }

  const group = (resources: CandidatesGroup["resources"], suffix = ""): CandidatesGroup => ({ suffix, resources });

  it("equal the JSON for flat providers, trees and sharing providers", async () => {
    world.provider(1, { VCPU: 4, MEMORY_MB: 512 }, { aggregates: [aggregate(1)] });
    world.provider(2, { SRIOV_NET_VF: 4 }, { parent: 1 });
    world.provider(3, { SRIOV_NET_VF: 4 }, { parent: 1 });
    world.provider(4, { DISK_GB: 50 }, { traits: ["MISC_SHARES_VIA_AGGREGATE"], aggregates: [aggregate(1)] });
    world.provider(5, { VCPU: 4, DISK_GB: 5 });
    expect(await expectSame([group({ VCPU: 1 })])).toContain(uuid(5));
    expect(await expectSame([group({ VCPU: 1, DISK_GB: 5 })])).toContain(uuid(4));
    expect(await expectSame([group({ VCPU: 1 }), group({ SRIOV_NET_VF: 1 }, "_a")])).toContain(uuid(3));
    const two = [group({ VCPU: 1 }), group({ SRIOV_NET_VF: 1 }, "_a"), group({ SRIOV_NET_VF: 1 }, "_b")];
    expect(await expectSame(two, { groupPolicy: "none" })).toContain('"SRIOV_NET_VF":2');
    expect(await expectSame([group({ VCPU: 1 })], { limit: 1 })).not.toContain(uuid(5));
    expect(await expectSame([group({ VCPU: 64 })])).toBe('[[],[],"1.36"]');
  });

  it("reflect each change of a provider", async () => {
    world.provider(1, { VCPU: 4 });
    world.provider(2, { SRIOV_NET_VF: 4 });
    const observed = new Set([await expectSame([group({ VCPU: 1 })])]);
    const look = async () => {
      const found = await expectSame([group({ VCPU: 1 })]);
      expect(observed).not.toContain(found);
      observed.add(found);
    };
    world.allocate(1, null, { 1: { VCPU: 3 } });
    await look();
    const amounts = { total: 8, reserved: 1, allocation_ratio: 1.5 };
    world.json("PUT", `/resource_providers/${uuid(1)}/inventories/VCPU`, {
      ...amounts,
      resource_provider_generation: 2,
    });
    await look();
    world.json("PUT", `/resource_providers/${uuid(1)}`, { name: "p1", parent_provider_uuid: uuid(2) });
    await look();
  });

  it("are only roots if there are no trees, sharing providers or groups", async () => {
    world.provider(1, { VCPU: 4 });
    world.provider(2, { VCPU: 1 });
    const flat = await both([group({ VCPU: 1 })]);
    expect(flat.roots?.map(({ uuid: root }) => root)).toEqual([uuid(1), uuid(2)]);
    const grouped = await both([group({ VCPU: 1 }, "_a"), group({ VCPU: 1 }, "_b")], { groupPolicy: "none" });
    expect(grouped.roots).toBeUndefined();
    world.provider(3, { VCPU: 4 }, { parent: 2 });
    expect((await both([group({ VCPU: 1 })])).roots).toBeUndefined();
  });

  it("equal the JSON for any providers", async () => {
    const amounts = fc.record({ VCPU: fc.nat(3), MEMORY_MB: fc.nat(3) }, { requiredKeys: [] });
    const seldom = fc.mapToConstant({ num: 7, build: () => false }, { num: 1, build: () => true });
    const traits = fc
      .tuple(fc.subarray(["COMPUTE_NODE", "COMPUTE_STATUS_DISABLED"]), seldom)
      .map(([some, shares]) => [...some, ...(shares ? ["MISC_SHARES_VIA_AGGREGATE"] : [])]);
    const aProvider = fc.record({
      inventories: amounts,
      traits,
      aggregates: fc.subarray([aggregate(1), aggregate(2)]),
      child: seldom,
      used: amounts,
    });
    const aQuery = fc.record({
      rootRequired: fc.subarray(["!COMPUTE_STATUS_DISABLED", "COMPUTE_NODE"]),
      limit: fc.integer({ min: 1, max: 8 }),
    });
    const requestedResources = fc.record({ VCPU: fc.integer({ min: 1, max: 2 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(aProvider, { maxLength: 8 }),
        requestedResources,
        aQuery,
        async (drawn, resources, query) => {
          world = new World();
          for (const [index, each] of drawn.entries()) {
            const { inventories, child, used, traits: has, aggregates } = each;
            const totals = Object.fromEntries(Object.entries(inventories).filter(([, total]) => total > 0));
            world.provider(index + 1, totals, {
              ...(has.length > 0 ? { traits: has } : {}),
              aggregates,
              ...(child && index > 0 ? { parent: 1 } : {}),
            });
            const taken = Object.entries(used).filter(([name, amount]) => amount > 0 && amount <= (totals[name] ?? 0));
            if (taken.length > 0) {
              world.allocate(index + 1, null, { [index + 1]: Object.fromEntries(taken) });
            }
            // Cached fragments of the previous state must not appear.
            await expectSame([group(resources)], query);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  it("replace the JSON, from the microversion that has their summaries", async () => {
    world.provider(1, { VCPU: 4 });
    await client({}).getAllocationCandidates({ groups: [group({ VCPU: 1 })], rootRequired: [], limit: 1 });
    const older = { "openstack-api-version": "placement 1.28" };
    await client({}, older).getAllocationCandidates({ groups: [group({ VCPU: 1 })], rootRequired: [], limit: 1 });
    expect(responses.map(({ body, records }) => [body === "", records !== undefined])).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it("are rejected in the same cases as JSON", async () => {
    const query = { groups: [group({ VCPU: 1 })], rootRequired: ["CUSTOM_UNKNOWN"], limit: 1 };
    expect(await client({}).getAllocationCandidates(query)).toBeNull();
    expect(await client({ takesRecords: false }).getAllocationCandidates(query)).toBeNull();
    const [records, text] = responses.map(({ status, body }) => ({ status, body: body.replaceAll(/req-[^"]*/g, "") }));
    expect(records).toEqual(text);
    expect(records?.status).toBe(400);
  });
});
