import { beforeEach, describe, expect, it, test } from "vitest";
import { NoValidHost } from "../../../../src/control-plane/scheduler/errors.js";
import {
  candidatesGroups,
  claimSelection,
  type Held,
} from "../../../../src/control-plane/scheduler/schedule-request.js";
import type { Aggregate } from "../../../../src/control-plane/store/aggregates.js";
import type { ReportClient } from "../../../../src/placement-client/report-client.js";
import type { Allocations } from "../../../../src/placement-client/types.js";
import { resourceRequest } from "../../../../src/records/index.js";
import { aFlavor } from "../../../fixtures/records.js";
import { NO_RULES } from "../../../fixtures/scheduler-rules.js";

const on = (uuid: string, resources: Readonly<Record<string, number>>): Allocations => ({ [uuid]: { resources } });

describe("claimSelection", () => {
  const REQUESTED = { ...on("d", { VCPU: 2, MEMORY_MB: 512 }), ...on("nfs", { DISK_GB: 5 }) };
  let calls: unknown[];
  let results: (boolean | null)[];

  beforeEach(() => {
    [calls, results] = [[], []];
  });

  function claim(held: Held, current: Allocations = {}) {
    const recordCall = (question: string, ...args: readonly unknown[]) => {
      calls.push([question, ...args]);
      return Promise.resolve(results.shift() ?? null);
    };
    const placement = {
      getAllocationsForConsumer: async (...args: readonly unknown[]) => {
        calls.push(["get", ...args]);
        return { allocations: current, projectId: "p", userId: "u", consumerGeneration: 3 };
      },
      claimResources: (...args: readonly unknown[]) => recordCall("claim", ...args),
      putAllocations: (...args: readonly unknown[]) => recordCall("put", ...args),
    };
    const selection = { allocationRequest: REQUESTED, allocationRequestVersion: "1.36" };
    const consumer = { consumer: "I", projectId: "project", userId: "user", held };
    return claimSelection(placement as unknown as ReportClient, selection, consumer, "req-1");
  }

  const claimed = (held: Held) => [
    "claim",
    {
      consumer: "I",
      projectId: "project",
      userId: "user",
      held,
      request: { allocations: REQUESTED },
      version: "1.36",
    },
    { requestId: "req-1" },
  ];

  test.each<[readonly (boolean | null)[], boolean | null, number]>([
    [[true], true, 1],
    [[false], false, 1],
    [[null, true], true, 2],
    [[null, false], false, 2],
    [[null, null], null, 2],
  ])("answers %j: %s after %i tries", async (callResults, expected, tries) => {
    for (const held of ["double", "replace"] as const) {
      [calls, results] = [[], [...callResults]];
      expect(await claim(held)).toBe(expected);
      expect(calls).toEqual(Array.from({ length: tries }, () => claimed(held)));
    }
  });

  it("sum: adds to existing allocations, with the generation that was read", async () => {
    results = [true];
    const current = { ...on("d", { VCPU: 1, DISK_GB: 1 }), ...on("other", { VGPU: 1 }) };
    expect(await claim("sum", current)).toBe(true);
    expect(calls).toEqual([
      ["get", "I", { requestId: "req-1" }],
      [
        "put",
        "I",
        {
          allocations: {
            ...on("d", { VCPU: 3, DISK_GB: 1, MEMORY_MB: 512 }),
            ...on("other", { VGPU: 1 }),
            ...on("nfs", { DISK_GB: 5 }),
          },
          projectId: "project",
          userId: "user",
          read: { allocations: current, projectId: "p", userId: "u", consumerGeneration: 3 },
        },
        { requestId: "req-1" },
      ],
    ]);
    results = [false];
    expect(await claim("sum", current)).toBe(false);
  });

  it("sum: without existing allocations on these providers equals double", async () => {
    results = [null, true];
    expect(await claim("sum", on("other", { VGPU: 1 }))).toBe(true);
    expect(calls).toEqual([["get", "I", { requestId: "req-1" }], claimed("double"), claimed("double")]);
  });
});

describe("candidatesGroups", () => {
  const aggregate = (uuid: string, metadata: Aggregate["metadata"]) => ({ uuid, metadata }) as Aggregate;
  const AGGREGATES = [
    aggregate("a1", { filter_tenant_id: "project" }),
    aggregate("a2", { filter_tenant_id_2: "project", other: "x" }),
    aggregate("a3", { filter_tenant_id: "other", owner: "project" }),
    aggregate("t1", { "trait:CUSTOM_A": "required" }),
    aggregate("t2", { "trait:CUSTOM_B": "required", "trait:CUSTOM_A": "forbidden" }),
    aggregate("t3", { "trait:CUSTOM_B": "forbidden", CUSTOM_C: "required" }),
  ];
  const groups = (extraSpecs: Readonly<Record<string, string>>, rules = {}, project = "project") =>
    candidatesGroups(resourceRequest(aFlavor({ extraSpecs })), project, () => AGGREGATES, { ...NO_RULES, ...rules });
  const SPECS = {
    "resources1:VGPU": "1",
    "trait1:CUSTOM_A": "required",
    "trait:B_B": "required",
    "trait:A_A": "required",
    "trait:D_D": "forbidden",
    "trait:C_C": "forbidden",
  };
  const { resources } = groups({})[0] ?? expect.fail("no group");

  it("required traits precede forbidden ones, each in order; a suffixed group is separate", () => {
    expect(groups(SPECS)).toEqual([
      { suffix: "", resources, required: ["A_A", "B_B", "!C_C", "!D_D"], notMemberOf: [] },
      { suffix: "1", resources: { VGPU: 1 }, required: ["CUSTOM_A"] },
    ]);
    expect(Object.keys(groups(SPECS)[0] ?? {})).not.toContain("memberOf");
  });

  it("limit_tenants_to_placement_aggregate: any of the project's aggregates, whatever suffix the key has", () => {
    expect(groups({}, { limitTenants: true })).toMatchObject([{ memberOf: [["a1", "a2"]], notMemberOf: [] }]);
    expect(groups({}, { limitTenants: true }, "nobody")[0]).not.toHaveProperty("memberOf");
    const required = { limitTenants: true, aggregateRequired: true };
    expect(() => groups({}, required, "nobody")).toThrow(new NoValidHost("No hosts available for tenant"));
    expect(groups({}, required)).toHaveLength(1);
  });

  it("enable_isolated_aggregate_filtering: no aggregate with traits that the servers do not require", () => {
    expect(groups({}, { isolate: true })).toMatchObject([{ notMemberOf: ["t1", "t2"] }]);
    expect(groups(SPECS, { isolate: true })).toMatchObject([{ notMemberOf: ["t2"] }, {}]);
  });

  it("a flavor without resources, or with several groups without a policy, is rejected", () => {
    const none = { groups: [], groupPolicy: null };
    expect(() => candidatesGroups(none, "p", () => [], NO_RULES)).toThrow(NoValidHost);
    const two = { "resources1:VGPU": "1", "resources2:VGPU": "1" };
    expect(() => groups(two)).toThrow(
      expect.objectContaining({
        explanation: expect.stringContaining("requests the resource groups 1, 2 without a group_policy"),
      }),
    );
    expect(groups({ ...two, group_policy: "none" })).toHaveLength(3);
  });
});
