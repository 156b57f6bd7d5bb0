import { describe, expect, it, test } from "vitest";
import type { GroupOnHost } from "../../../../../src/conductor-client/methods/records.js";
import type { QuirkName } from "../../../../../src/config/quirks.js";
import { FlowStage, OLD, type StageOptions } from "../../support/flow-stage.js";
import { TO_HERE } from "../../support/staged-move.js";

const GROUP = "11111111-1111-4111-8111-111111111111";
const APART: GroupOnHost = { uuid: GROUP, policy: "anti-affinity", maxServerPerHost: 0, here: ["other"], hosts: [] };

/** Each kind of arrival: the stage before it, and its request. */
const ARRIVALS = {
  build: (stage: StageOptions) => {
    const building = { host: null, node: null, computeId: null, vmState: "building", taskState: "scheduling" } as const;
    return new FlowStage({ ...stage, instance: { ...building, taskRequestId: null } });
  },
  evacuation: (stage: StageOptions) =>
    new FlowStage({
      ...stage,
      instance: { host: "there", node: "far", taskState: "rebuilding" },
      migration: { migrationType: "evacuation", status: "accepted", ...TO_HERE },
      capabilities: { supportsEvacuate: true },
    }),
  migration: (stage: StageOptions) =>
    new FlowStage({
      ...stage,
      instance: { host: "there", node: "far", taskState: "resize_prep" },
      migration: { migrationType: "migration", status: "pre-migrating", ...TO_HERE },
    }),
  unshelve: (stage: StageOptions) => {
    const offloaded = { host: null, node: null, computeId: null, vmState: "shelved_offloaded" } as const;
    return new FlowStage({ ...stage, instance: { ...offloaded, taskState: "unshelving" } });
  },
  "live check": (stage: StageOptions) =>
    new FlowStage({
      ...stage,
      instance: { host: "there", node: "far", taskState: "migrating" },
      migration: { migrationType: "live-migration", status: "preparing", ...TO_HERE },
    }),
};

type Arrival = keyof typeof ARRIVALS;

function arrive(stage: FlowStage, arrival: Arrival, serverGroup: string | undefined = GROUP): Promise<unknown> {
  const group = serverGroup === "" ? {} : { serverGroup };
  const retry = { numAttempts: 1, hosts: [["here", "node"]] as const };
  const claimed = { allocations: null, node: "node", ...group };
  switch (arrival) {
    case "build":
      return stage.failure("build_and_run_instance", { ...claimed, alternates: [], retry });
    case "evacuation":
      return stage.failure("rebuild_instance", {
        ...{ onSharedStorage: null, recreate: true, imageRef: "image", targetStopped: false },
        ...{ node: "node", ...group },
      });
    case "migration":
      return stage.failure("prep_resize", { flavor: OLD, node: "node", alternates: [], ...group });
    case "unshelve":
      return stage.failure("unshelve_instance", claimed);
    case "live check":
      return stage.failure("check_can_live_migrate_destination", { blockMigration: null, diskOverCommit: false });
  }
}

const countGroupChecks = (stage: FlowStage) => stage.argumentsOf("server_group_on_host").length;
const VIOLATION = { name: "GroupAffinityViolation", message: "Anti-affinity instance group policy was violated" };

describe("6.9 row 5, the destination", () => {
  it.each(Object.keys(ARRIVALS) as Arrival[])("looks at the group when it has claimed: %s", async (arrival) => {
    const stage = ARRIVALS[arrival]({});
    stage.replies.server_group_on_host = APART;
    const error = await arrive(stage, arrival);
    expect(stage.argumentsOf("server_group_on_host")).toEqual([[{ instanceUuid: "vm", host: "here", node: "node" }]]);
    const order = stage.lines.map(([call]) => call).filter((call) => /Claim$|server_group/.test(call));
    expect(order.at(-1)).toBe("server_group_on_host");
    const calls = stage.calls.filter((call) => /driver\.(spawn|preLive|checkCan)/.test(call));
    expect(calls).toEqual([]);
    if (arrival === "live check") {
      expect(error).toMatchObject({
        name: "MigrationPreCheckError",
        message: expect.stringContaining("Anti-affinity"),
      });
    } else if (arrival !== "build") {
      expect(error).toMatchObject(VIOLATION);
    }
  });

  test.each<[string, Partial<GroupOnHost>, string | null]>([
    ["fewer than allowed", { maxServerPerHost: 2 }, null],
    ["as many as allowed", { maxServerPerHost: 2, here: ["a", "b"] }, "Anti-affinity"],
    ["no others", { here: [] }, null],
    ["soft anti-affinity", { policy: "soft-anti-affinity" }, null],
    ["soft affinity", { policy: "soft-affinity", hosts: ["there"] }, null],
    ["affinity, others elsewhere", { policy: "affinity", here: [], hosts: ["there"] }, "Affinity"],
    ["affinity, others here and elsewhere", { policy: "affinity", hosts: ["there", "here"] }, null],
    ["affinity, no others", { policy: "affinity", here: [], hosts: [] }, null],
  ])("%s", async (_what, changes, broken) => {
    const stage = ARRIVALS.unshelve({});
    stage.replies.server_group_on_host = { ...APART, ...changes };
    const message = broken === null ? null : `${broken} instance group policy was violated`;
    expect(((await arrive(stage, "unshelve")) as Error | null)?.message ?? null).toBe(message);
  });

  it("does not ask for a server that is in no group, nor where the group is gone", async () => {
    const free = ARRIVALS.build({});
    await arrive(free, "build", "");
    expect([countGroupChecks(free), free.calls.includes("driver.spawn")]).toEqual([0, true]);
    const gone = ARRIVALS.build({});
    await arrive(gone, "build");
    expect([countGroupChecks(gone), gone.calls.includes("driver.spawn")]).toEqual([1, true]);
  });

  it.each<[Arrival, QuirkName]>([
    ["evacuation", "evacuation-breaks-group-policy"],
    ["migration", "migration-breaks-group-policy"],
    ["live check", "migration-breaks-group-policy"],
    ["unshelve", "unshelve-breaks-group-policy"],
  ])("%s: as upstream with %s", async (arrival, quirk) => {
    const stage = ARRIVALS[arrival]({ quirks: [quirk] });
    await arrive(stage, arrival);
    expect(countGroupChecks(stage)).toBe(0);
  });

  it.each(Object.keys(ARRIVALS) as Arrival[])(
    "disable_group_policy_check_upcall: %s is not looked at",
    async (arrival) => {
      const stage = ARRIVALS[arrival]({ workarounds: { disableGroupPolicyCheckUpcall: true } });
      await arrive(stage, arrival);
      expect(countGroupChecks(stage)).toBe(0);
    },
  );
});

describe("6.9 row 6, what a refusal leads to", () => {
  async function rejectArrival(arrival: Arrival): Promise<FlowStage> {
    const stage = ARRIVALS[arrival]({});
    stage.replies.server_group_on_host = APART;
    await arrive(stage, arrival);
    return stage;
  }

  test("a build is handed back, and is no failed build", async () => {
    const stage = await rejectArrival("build");
    expect(stage.argumentsOf("build_instances")).toMatchObject([[{ reason: VIOLATION.message }]]);
    expect(stage.argumentsOf("tracker.noteBuild")).toEqual([]);
    expect(stage.argumentsOf("claim.abort")).toMatchObject([[{ instance: { host: null, taskState: "scheduling" } }]]);
  });

  test("a cold migration leaves the server as it was", async () => {
    const stage = await rejectArrival("migration");
    expect(stage.argumentsOf("claim.abort")).toEqual([
      [{ instance: { taskState: null, newFlavor: null }, migrationStatus: "error" }],
    ]);
  });

  test("an evacuation has failed, and the server is as it was", async () => {
    const stage = await rejectArrival("evacuation");
    expect(stage.argumentsOf("claim.abort")).toEqual([[{ migrationStatus: "failed", instance: { taskState: null } }]]);
  });

  test("an unshelve gives back what it has claimed", async () => {
    const stage = await rejectArrival("unshelve");
    expect(stage.calls).toContain("placement.deleteAllocation");
    expect(stage.argumentsOf("claim.abort")).toHaveLength(1);
  });
});
