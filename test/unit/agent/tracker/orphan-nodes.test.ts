import { describe, expect, test } from "vitest";
import { forgetNodesWithoutRow, removeOrphans } from "../../../../src/agent/tracker/compute-nodes.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { NODE, TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const REQUEST = { requestId: "req-pass" };
const SECOND = aComputeNode({ id: 6, uuid: "second-uuid", host: "here", hypervisorHostname: "second" });
const DESTROY = (host = "here") => ["compute_node_destroy", { id: 5, host }];
const FORGET = ["placement.invalidateResourceProvider", "node-uuid"];
const REMOVE = (instances: string[] = [], evacuated: string[] = []) => [
  "placement.deleteResourceProvider",
  "node-uuid",
  { ...REQUEST, cascade: { instances, evacuated } },
];

/** Creates node `node`, which the driver no longer lists and reports as deleted. */
function orphaned(options: TrackerStageOptions = {}): TrackerStage {
  const stage = new TrackerStage({ nodes: [NODE, SECOND], ...options });
  stage.replies["driver.isNodeDeleted"] = true;
  stage.replies.compute_node_destroy = true;
  stage.replies.instances_by_host_and_node = [];
  return stage;
}

function remove(stage: TrackerStage, rows = [NODE, SECOND]) {
  return removeOrphans(stage.state, rows, new Set(["second"]), REQUEST);
}

const names = (stage: TrackerStage) => [...stage.state.nodes.keys()];
const did = (stage: TrackerStage) => stage.did.filter(([call]) => !/^driver|^instances_by/.test(call));

describe("4.3 step 3 rows that are gone", () => {
  test("unguarded-node-delete: upstream remembers them", () => {
    const stage = orphaned({ options: { unguardedNodeDelete: true } });
    forgetNodesWithoutRow(stage.state, []);
    expect([names(stage), stage.did]).toEqual([["node", "second"], []]);
  });
});

describe("4.3 step 4 nodes that the driver does not list", () => {
  test("one that it calls deleted goes: row, memory, provider with what is known to have left it", async () => {
    const stage = orphaned({ migration: { migrationType: "evacuation", status: "done", sourceCompute: "here" } });
    stage.replies.instances_by_host_and_node = [stage.instance];
    await remove(stage);
    expect(stage.argumentsOf("driver.isNodeDeleted")).toEqual([["node"]]);
    expect(did(stage)).toEqual([DESTROY(), FORGET, REMOVE(["vm"], ["vm"])]);
    expect(stage.argumentsOf("instances_by_host_and_node")).toEqual([[{ host: "here", node: "node" }]]);
    expect(stage.argumentsOf("migrations_by_filters")).toEqual([
      [{ filters: { sourceCompute: "here", migrationTypes: ["evacuation"], statuses: ["done"] } }],
    ]);
    expect(names(stage)).toEqual(["second"]);
  });
  test.each([
    ["the host that it has now", { host: "there" }, "there"],
    ["its own, when the row is gone", null, "here"],
  ])("unguarded-node-delete: upstream's guard is %s", async (_, row, guard) => {
    const stage = orphaned({ options: { unguardedNodeDelete: true } });
    stage.replies.compute_node_get_by_uuid = () => row;
    await remove(stage);
    expect(stage.argumentsOf("compute_node_get_by_uuid")).toEqual([[{ uuid: "node-uuid" }]]);
    expect(did(stage)[0]).toEqual(DESTROY(guard));
  });

  test("a provider that cannot be removed is an error, and no more", async () => {
    const stage = orphaned();
    stage.replies["placement.deleteResourceProvider"] = new Error("in use");
    await remove(stage);
    expect(stage.logged("the provider of a deleted compute node could not be removed")).toBe(1);
  });

  test("V22 one that cannot be judged does not keep the others from their turn", async () => {
    const third = aComputeNode({ id: 7, uuid: "third-uuid", host: "here", hypervisorHostname: "third" });
    const stage = orphaned({ nodes: [NODE, third] });
    stage.replies["driver.isNodeDeleted"] = (node: string) => (node === "node" ? new Error("broken") : true);
    await remove(stage, [NODE, third]);
    expect(stage.argumentsOf("compute_node_destroy")).toEqual([[{ id: 7, host: "here" }]]);
    expect(stage.runtime.logs.filter(({ level }) => level === "error")).toMatchObject([{ fields: { node: "node" } }]);
  });
});
