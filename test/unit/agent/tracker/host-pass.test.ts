import { describe, expect, test } from "vitest";
import {
  updateAvailableResource,
  updateAvailableResourceForNode,
} from "../../../../src/agent/tracker/update-available-resource.js";
import { PlacementError } from "../../../../src/placement-client/errors.js";
import type { ComputeNode } from "../../../../src/records/index.js";
import { ReshapeFailed, ReshapeNeeded, VirtDriverNotReady } from "../../../../src/virt/errors.js";
import { ProviderTree } from "../../../../src/virt/provider-tree.js";
import { aComputeNode } from "../../../fixtures/records.js";
import { NODE, TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const ID = { requestId: expect.stringMatching(/^req-/) };
const RESOURCES = {
  vcpus: 16,
  memoryMb: 4096,
  localGb: 200,
  cpuInfo: null,
  numaTopology: null,
  hypervisorType: "stub",
  hypervisorVersion: 7,
  supportedInstances: [],
  diskAvailableLeast: null,
};

function row(name: string, changes: Partial<ComputeNode> = {}) {
  return aComputeNode({ id: 5, uuid: `${name}-uuid`, host: "here", hypervisorHostname: name, ...changes });
}

/** Creates a host whose driver lists these nodes, with a row each. */
function hosting(names: readonly string[], options: TrackerStageOptions = {}): TrackerStage {
  const stage = new TrackerStage({ nodes: names.map((name) => row(name)), lacks: ["getNodenamesByUuid"], ...options });
  const { replies } = stage;
  Object.assign(stage.state.driver, { getHostIpAddr: () => "10.0.0.1" });
  replies["driver.getAvailableNodes"] = names;
  replies["driver.nodeIsAvailable"] = true;
  replies["driver.isNodeDeleted"] = false;
  replies["driver.getAvailableResource"] = (name: string) => ({
    ...RESOURCES,
    hypervisorHostname: name,
    uuid: `${name}-uuid`,
  });
  replies.compute_nodes_by_host = names.map((name) => row(name));
  replies.compute_node_get_by_uuid = () => null;
  replies.compute_node_create = (values: object) => ({ ...NODE, ...values });
  replies.compute_node_save = ({ changes }: { changes: object }) => ({ ...NODE, ...changes });
  for (const none of ["instances_by_host", "instances_by_host_and_node", "migrations_in_progress"]) {
    replies[none] = [];
  }
  replies.service_get_by_host = { disabled: true };
  replies["placement.getAllocationsForProvider"] = { consumers: new Map() };
  replies["placement.listProviders"] = ["listed"];
  replies["placement.beginPass"] = { pass: 1 };
  replies["placement.getProviderTreeAndEnsureRoot"] = (uuid: string, name: string) => {
    const tree = new ProviderTree();
    tree.newRoot(name, uuid);
    return tree;
  };
  return stage;
}
const pass = (stage: TrackerStage, startup = false) => updateAvailableResource(stage.state, { startup });
const callsMatching = (stage: TrackerStage, pattern: RegExp) => stage.lines.filter(([call]) => pattern.test(call));
const errors = (stage: TrackerStage) => stage.runtime.logs.filter(({ level }) => level === "error" || level === "warn");

describe("4.3 a pass over all nodes of the host", () => {
  test("driver's list, rows, service, and then node by node", async () => {
    const stage = hosting(["node"]);
    await pass(stage);
    const order = stage.lines.map(([call]) => call);
    expect(order).toEqual([
      "driver.getAvailableNodes",
      "compute_nodes_by_host",
      "service_get_by_host",
      "driver.getAvailableResource",
      "instances_by_host_and_node",
      "migrations_in_progress",
      "placement.getAllocationsForProvider",
      "placement.getProviderTreeAndEnsureRoot",
      "driver.updateProviderTree",
      "placement.getAllocationsForProviderTree",
      "placement.updateFromProviderTree",
      "compute_node_save",
    ]);
    expect(stage.argumentsOf("driver.getAvailableNodes")).toEqual([[{ refresh: true }]]);
    expect(stage.argumentsOf("compute_nodes_by_host")).toEqual([[{ host: "here" }]]);
    expect(stage.argumentsOf("service_get_by_host")).toEqual([[{ host: "here", binary: "nova-compute" }]]);
    expect(stage.state.binding.disabled).toBe(true);
    expect(stage.node().row).toMatchObject({ vcpus: 16, memoryMb: 4096 });
    expect(errors(stage)).toEqual([]);
  });

  test("one request for all that it asks of Placement", async () => {
    const stage = hosting(["node", "second"], { options: { leanTracking: true } });
    await pass(stage);
    const ids = callsMatching(stage, /^placement/).flatMap(([, ...args]) =>
      args.flatMap((each) =>
        typeof each === "object" && each !== null && "requestId" in each ? [each.requestId] : [],
      ),
    );
    expect(ids.length).toBeGreaterThan(6);
    expect(new Set(ids).size).toBe(1);
  });

  test("a hypervisor that is not ready: the pass is skipped; another failure goes up", async () => {
    const away = hosting(["node"]);
    away.replies["driver.getAvailableNodes"] = new VirtDriverNotReady("booting");
    await pass(away);
    expect(away.lines).toHaveLength(1);
    expect(away.logged("the hypervisor is not ready: this pass is skipped")).toBe(1);
    const broken = hosting(["node"]);
    broken.replies["driver.getAvailableNodes"] = new Error("broken");
    await expect(pass(broken)).rejects.toThrow("broken");
  });

  test.each([
    [true, "debug"],
    [false, "error"],
  ])("a host without rows has not started before (start: %s)", async (startup, level) => {
    const stage = hosting(["node"], { nodes: [] });
    stage.replies.compute_nodes_by_host = [];
    await pass(stage, startup);
    const lines = stage.runtime.logs.filter(({ message }) => message === "the host has no compute node yet");
    expect(lines).toMatchObject([{ level, fields: { host: "here" } }]);
    expect(stage.argumentsOf("placement.getAllocationsForProvider"), "a new node has no provider").toEqual([]);
    expect(stage.state.nodes.has("node")).toBe(true);
    const empty = hosting([]);
    empty.replies.compute_nodes_by_host = [];
    await pass(empty, startup);
    expect(errors(empty)).toEqual([]);
  });

  test("a service without a row leaves the status as it is, and that is an error", async () => {
    const stage = hosting(["node"]);
    stage.replies.service_get_by_host = () => null;
    await pass(stage);
    expect(stage.state.binding.disabled).toBeNull();
    expect(errors(stage)).toMatchObject([{ level: "error", fields: { host: "here" } }]);
  });

  test("many nodes are read together, one by itself", async () => {
    const many = hosting(["node", "second"]);
    await pass(many);
    expect(callsMatching(many, /^instances/).map(([call]) => call)).toEqual(["instances_by_host"]);
    const one = hosting(["node"]);
    await pass(one);
    expect(callsMatching(one, /^instances/).map(([call]) => call)).toEqual(["instances_by_host_and_node"]);
  });

  test("a row that the driver does not list is judged, and a node without row forgotten", async () => {
    const stage = hosting(["node"], { nodes: [row("node"), row("gone")] });
    stage.replies.compute_nodes_by_host = [row("node"), row("orphan")];
    await pass(stage);
    expect(stage.argumentsOf("driver.isNodeDeleted")).toEqual([["orphan"]]);
    expect([...stage.state.nodes.keys()]).toEqual(["node"]);
  });
});

describe("lean_tracking: one listing for all nodes", () => {
  const lean = (names: readonly string[], options: TrackerStageOptions = {}) =>
    hosting(names, { ...options, options: { leanTracking: true, ...options.options } });
  const begun = (stage: TrackerStage) => stage.argumentsOf("placement.beginPass");

  test("of many nodes it is asked for while the driver lists them", async () => {
    const stage = lean(["node", "second"]);
    await pass(stage);
    expect(stage.lines[0]).toEqual(["placement.listProviders", ID]);
    expect(begun(stage)).toEqual([[["node-uuid", "second-uuid"], { ...ID, listed: ["listed"] }]]);
    expect(stage.argumentsOf("placement.getProviderTreeAndEnsureRoot")[0]?.[2]).toEqual({ ...ID, pass: { pass: 1 } });
    expect(stage.argumentsOf("placement.getAllocationsForProviderTree"), "only Nova asks each time").toEqual([]);
  });

  test("of one node the pass lists it by itself", async () => {
    const stage = lean(["node"]);
    await pass(stage);
    expect(begun(stage)).toEqual([[["node-uuid"], { ...ID, listed: undefined }]]);
  });

  test("without the option there is none", async () => {
    const stage = hosting(["node", "second"]);
    await pass(stage);
    expect([begun(stage), stage.argumentsOf("placement.listProviders")]).toEqual([[], []]);
    expect(stage.argumentsOf("placement.getProviderTreeAndEnsureRoot")[0]?.[2]).toEqual(ID);
  });

  test("a listing that fails is none; a pass that cannot begin is said, and the nodes are read one by one", async () => {
    const unlisted = lean(["node", "second"]);
    unlisted.replies["placement.listProviders"] = new Error("Placement");
    await pass(unlisted);
    expect(begun(unlisted)[0]?.[1]).toEqual({ ...ID, listed: undefined });
    const broken = lean(["node"]);
    broken.replies["placement.beginPass"] = new Error("Placement");
    await pass(broken);
    expect(errors(broken)).toMatchObject([{ level: "warn" }]);
    expect(broken.calls).toContain("placement.updateFromProviderTree");
  });

  test("nodes without a row are named by the driver, where it can", async () => {
    const stage = lean(["node", "new"], { lacks: [], nodes: [row("node")] });
    stage.replies.compute_nodes_by_host = [row("node"), row("gone")];
    stage.replies["driver.getNodenamesByUuid"] = new Map([
      ["node-uuid", "node"],
      ["new-uuid", "new"],
      ["other-uuid", "not listed"],
    ]);
    await pass(stage);
    expect(begun(stage)[0]?.[0]).toEqual(["node-uuid", "new-uuid"]);
    const known = lean(["node"], { lacks: [] });
    await pass(known);
    expect(known.argumentsOf("driver.getNodenamesByUuid")).toEqual([]);
    const unguarded = lean(["node", "new"], {
      lacks: [],
      nodes: [row("node")],
      options: { unguardedNodeDelete: true },
    });
    unguarded.replies.compute_nodes_by_host = [row("node")];
    await pass(unguarded);
    expect(begun(unguarded)[0]?.[0]).toEqual(["node-uuid"]);
  });

  test("no known provider: no pass", async () => {
    const stage = lean(["node"], { nodes: [] });
    stage.replies.compute_nodes_by_host = [];
    await pass(stage);
    expect(begun(stage)).toEqual([]);
  });
});

describe("4.8 one node's failure", () => {
  test("does not keep the others from their pass", async () => {
    const stage = hosting(["node", "second", "third"]);
    stage.replies["driver.getAvailableResource"] = (name: string) =>
      name === "second" ? new Error("broken") : { ...RESOURCES, hypervisorHostname: name, uuid: `${name}-uuid` };
    stage.replies["placement.updateFromProviderTree"] = (tree: ProviderTree) =>
      tree.find("third") ? new Error("Placement") : undefined;
    await pass(stage);
    expect(errors(stage)).toMatchObject([
      { level: "error", fields: { node: "second" } },
      { level: "error", fields: { node: "third" } },
    ]);
    expect(stage.argumentsOf("placement.updateFromProviderTree")).toHaveLength(2);
  });

  test.each([true, false])("a reshape that failed goes up (start: %s)", async (startup) => {
    const stage = hosting(["node"]);
    stage.replies["driver.updateProviderTree"] = new ReshapeFailed("broken");
    await expect(pass(stage, startup)).rejects.toThrow("broken");
  });

  test("provider.yaml is told of only by a pass without failures", async () => {
    let ended = 0;
    const stage = hosting(["node"]);
    Object.assign(stage.state.merge, { endPass: () => (ended += 1) });
    await pass(stage);
    expect(ended).toBe(1);
    stage.replies["driver.getAvailableResource"] = new Error("broken");
    await pass(stage);
    stage.replies["driver.getAvailableResource"] = { ...RESOURCES, hypervisorHostname: "node", uuid: "node-uuid" };
    stage.replies["placement.updateFromProviderTree"] = new Error("broken");
    await pass(stage);
    expect(ended).toBe(1);
  });
});

describe("4.7 a node's providers", () => {
  const conflict = () => new PlacementError("ResourceProviderUpdateConflict", "changed");

  test("an update that meets a change is tried four times in all, without delay", async () => {
    const stage = hosting(["node"]);
    let times = 0;
    stage.replies["placement.updateFromProviderTree"] = () => (times++ < 3 ? conflict() : undefined);
    await pass(stage);
    expect([times, stage.passed, errors(stage)]).toEqual([4, 0, []]);
    const stuck = hosting(["node"]);
    stuck.replies["placement.updateFromProviderTree"] = conflict();
    await pass(stuck);
    expect(stuck.argumentsOf("placement.updateFromProviderTree")).toHaveLength(4);
    expect(errors(stuck)).toHaveLength(1);
  });

  test("the tracker's traits are on the root", async () => {
    const stage = hosting(["node"], { capabilities: { supportsEvacuate: true, supportsTrustedCerts: false } });
    await pass(stage);
    const { tree } = stage.node();
    const traits = tree?.data("node").traits ?? new Set();
    expect([...traits]).toEqual(expect.arrayContaining(["COMPUTE_NODE", "OWNER_NOVA", "COMPUTE_STATUS_DISABLED"]));
  });

  test("a reshape happens at the start alone: the driver gets who holds what", async () => {
    const consumers = new Map();
    const stage = hosting(["node"]);
    let times = 0;
    stage.replies["driver.updateProviderTree"] = () => (times++ === 0 ? new ReshapeNeeded("move") : undefined);
    stage.replies["placement.getAllocationsForProviderTree"] = consumers;
    await pass(stage, true);
    expect(stage.argumentsOf("placement.getAllocationsForProviderTree")).toEqual([["node-uuid", ID]]);
    expect(stage.argumentsOf("driver.updateProviderTree")[1]?.[2]).toEqual({ allocations: expect.anything() });
    expect(stage.argumentsOf("placement.updateFromProviderTree")[0]?.[1]).toEqual({
      ...ID,
      reshape: expect.anything(),
    });
    times = 0;
    await expect(pass(stage, false)).rejects.toThrow("move");
  });

  test("a row that is as it was is not saved again; a save that failed is tried in the next pass", async () => {
    const stage = hosting(["node"]);
    await pass(stage);
    await pass(stage);
    expect(stage.argumentsOf("compute_node_save")).toHaveLength(1);
    expect(stage.argumentsOf("compute_node_save")[0]?.[0]).toMatchObject({
      id: 5,
      changes: { vcpus: 16, hostIp: "10.0.0.1" },
    });
    const failing = hosting(["node"]);
    failing.replies.compute_node_save = new Error("conductor");
    await pass(failing);
    await pass(failing);
    expect(failing.argumentsOf("compute_node_save")).toHaveLength(2);
  });
});

describe("one node's part of it", () => {
  test("service, driver, and the node alone", async () => {
    const stage = hosting(["node"]);
    await updateAvailableResourceForNode(stage.state, "node");
    expect(stage.argumentsOf("driver.nodeIsAvailable")).toEqual([["node"]]);
    expect(stage.lines.map(([call]) => call).slice(0, 3)).toEqual([
      "service_get_by_host",
      "driver.nodeIsAvailable",
      "driver.getAvailableResource",
    ]);
    expect(stage.calls).toContain("placement.updateFromProviderTree");
  });

  test("one that the driver does not list gets its row, and no more", async () => {
    const stage = hosting(["node"]);
    stage.replies["driver.nodeIsAvailable"] = false;
    await updateAvailableResourceForNode(stage.state, "node");
    expect(stage.calls).not.toContain("placement.updateFromProviderTree");
  });

  test("its failure is said as a pass's is", async () => {
    const stage = hosting(["node"]);
    stage.replies["driver.getAvailableResource"] = new Error("broken");
    await updateAvailableResourceForNode(stage.state, "node");
    expect(errors(stage)).toMatchObject([{ level: "error", fields: { node: "node" } }]);
  });

  test("a driver that names no uuid has the host's own", async () => {
    const stage = hosting(["node"], { nodes: [] });
    stage.replies["driver.getAvailableResource"] = { ...RESOURCES, hypervisorHostname: "node" };
    await updateAvailableResourceForNode(stage.state, "node");
    expect(stage.argumentsOf("compute_node_create")[0]?.[0]).toMatchObject({
      uuid: "local-uuid",
      hypervisorHostname: "node",
    });
  });
});
