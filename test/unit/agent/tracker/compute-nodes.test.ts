import { describe, expect, test } from "vitest";
import { initComputeNode } from "../../../../src/agent/tracker/compute-nodes.js";
import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { ComputeNode } from "../../../../src/records/index.js";
import type { AvailableResource } from "../../../../src/virt/types.js";
import { NODE, TrackerStage, type TrackerStageOptions } from "../support/tracker-stage.js";

const RESOURCES: AvailableResource = {
  vcpus: 16,
  memoryMb: 4096,
  localGb: 200,
  vcpusUsed: 9,
  memoryMbUsed: 9,
  localGbUsed: 9,
  cpuInfo: "info",
  numaTopology: "numa",
  hypervisorType: "stub",
  hypervisorVersion: 7,
  hypervisorHostname: "node",
  supportedInstances: [["x86_64", "stub", "hvm"]],
  diskAvailableLeast: 150,
  stats: { arch: "x86_64" },
};

const COLUMNS = {
  hostIp: "10.0.0.1",
  vcpus: 16,
  memoryMb: 4096,
  localGb: 200,
  diskAvailableLeast: 150,
  hypervisorType: "stub",
  hypervisorVersion: 7,
  cpuInfo: "info",
  supportedHvSpecs: [["x86_64", "stub", "hvm"]],
  numaTopology: "numa",
};

function staged({
  nodes = [],
  capabilities,
  ...options
}: TrackerStageOptions & { readonly row?: Partial<ComputeNode> | null } = {}) {
  const stage = new TrackerStage({ nodes, ...options });
  Object.assign(stage.state.driver, { getHostIpAddr: () => "10.0.0.1" });
  stage.replies.compute_node_get_by_uuid = () => (options.row ? { ...NODE, ...options.row } : null);
  stage.replies.compute_node_create = ({ resources, ...place }: { resources: object }) => ({
    ...NODE,
    ...place,
    ...resources,
  });
  stage.replies.compute_node_save = ({ changes }: { changes: object }) => ({
    ...NODE,
    ...options.row,
    deleted: 0,
    ...changes,
  });
  return stage;
}

function init(stage: TrackerStage, resources = RESOURCES) {
  return initComputeNode(stage.state, "node", "node-uuid", resources);
}

describe("4.4 step 2: the node's row", () => {
  test("one that is known gets what the driver says, and its service", async () => {
    const stage = staged({ nodes: [NODE] });
    const { node, isNew } = await init(stage);
    expect([isNew, node, stage.did]).toEqual([false, stage.node(), []]);
    expect(node.row).toMatchObject({ ...COLUMNS, serviceId: 3 });
    expect(node.driverStats).toEqual({ arch: "x86_64" });
  });

  test("before the agent is bound to a service its row keeps the one that it names", async () => {
    const stage = staged({ nodes: [{ ...NODE, serviceId: 1 }] });
    stage.state.binding.serviceId = null;
    const { node } = await init(stage, { ...RESOURCES, stats: undefined } as never);
    expect([node.row.serviceId, node.driverStats]).toEqual([1, {}]);
  });

  test("one that has a row is taken from there, as it is", async () => {
    const stage = staged({ row: {} });
    const { node, isNew } = await init(stage);
    expect(stage.argumentsOf("compute_node_get_by_uuid")).toEqual([[{ uuid: "node-uuid" }]]);
    expect([isNew, stage.did, stage.state.nodes.get("node")]).toEqual([false, [], node]);
    expect(node.row).toMatchObject(COLUMNS);
  });

  test("one that the pass has listed is not asked for; another's row says nothing of it", async () => {
    const stage = staged({ row: {} });
    const listed = { ...NODE, uuid: "node-uuid" };
    const { node } = await initComputeNode(stage.state, "node", "node-uuid", RESOURCES, [listed]);
    expect([stage.argumentsOf("compute_node_get_by_uuid"), node.row.id]).toEqual([[], listed.id]);
    const other = staged({ row: {} });
    await initComputeNode(other.state, "node", "node-uuid", RESOURCES, [{ ...listed, uuid: "other-uuid" }]);
    expect(other.argumentsOf("compute_node_get_by_uuid")).toEqual([[{ uuid: "node-uuid" }]]);
  });

  test.each<[string, Partial<ComputeNode>, object, boolean]>([
    ["another host's", { host: "there" }, { host: "here", serviceId: 3 }, false],
    ["a deleted one", { deleted: 1 }, {}, true],
    ["another host's, deleted", { host: "there", deleted: 1 }, { host: "here", serviceId: 3 }, true],
  ])("%s is taken over, and un-deleted if need be (bug 1839560)", async (_, row, changes, undelete) => {
    const stage = staged({ row });
    expect((await init(stage)).isNew).toBe(false);
    expect(stage.did).toEqual([["compute_node_save", { id: 5, changes, undelete }]]);
    expect(stage.logged("compute node is moving to this host")).toBe("host" in row ? 1 : 0);
  });

  test("no-node-undelete: upstream fails there", async () => {
    const stage = staged({ row: { deleted: 1 }, options: { noNodeUndelete: true } });
    await expect(init(stage)).rejects.toMatchObject({ code: "DuplicateRecord" });
    const alive = staged({ row: {}, options: { noNodeUndelete: true } });
    expect((await init(alive)).isNew).toBe(false);
  });

  const RATIOS = { cpuAllocationRatio: 4, ramAllocationRatio: 1, diskAllocationRatio: 1 };

  test("one without a row gets one, with nothing on it but what is reserved", async () => {
    const stage = staged({ options: { reservedHostCpus: 2, reservedHostMemoryMb: 512, reservedHostDiskMb: 1025 } });
    const { node, isNew } = await init(stage);
    expect(stage.did).toEqual([
      [
        "compute_node_create",
        {
          host: "here",
          serviceId: 3,
          uuid: "node-uuid",
          hypervisorHostname: "node",
          resources: {
            ...COLUMNS,
            ...RATIOS,
            vcpusUsed: 2,
            memoryMbUsed: 512,
            localGbUsed: 2,
            freeRamMb: 3584,
            freeDiskGb: 198,
            runningVms: 0,
            currentWorkload: 0,
            stats: { arch: "x86_64", failed_builds: "0", io_workload: "0", num_instances: "0" },
            metrics: "[]",
            pciDevicePools: [],
          },
          exclusive: true,
        },
      ],
    ]);
    expect([isNew, stage.state.nodes.get("node")]).toEqual([true, node]);
    expect(node.driverStats).toEqual({ arch: "x86_64" });
  });

  test.each([
    [true, false, true],
    [false, false, false],
    [true, true, false],
  ])(
    "2.4 f its name is its own (%s), unless nodes move between agents (%s): %s",
    async (exclusiveNames, rebalancesNodes, exclusive) => {
      const stage = staged({ options: { exclusiveNames } });
      Object.assign(stage.state.driver, { rebalancesNodes });
      await init(stage);
      expect(stage.argumentsOf("compute_node_create")[0]?.[0]).toMatchObject({ exclusive });
    },
  );

  test.each([
    ["another host has the name", { takenBy: "there" }, "start the agent with --host there"],
    ["another uuid has host and name", {}, "put the uuid of that row into compute_id"],
  ])("2.4 %s: it says what to do", async (_, data, text) => {
    const stage = staged();
    stage.replies.compute_node_create = new ConductorError("DuplicateRecord", "exists", data);
    await expect(init(stage)).rejects.toThrow(
      expect.objectContaining({ name: "InvalidConfiguration", message: expect.stringContaining(text) }),
    );
    expect(stage.state.nodes.size, "bug 1839674").toBe(0);
  });

  test("another failure goes up; so does a pass before the service is bound", async () => {
    const stage = staged();
    stage.replies.compute_node_create = new Error("conductor");
    await expect(init(stage)).rejects.toThrow("conductor");
    stage.state.binding.serviceId = null;
    await expect(init(stage)).rejects.toThrow("bindService() comes before the first pass");
  });
});

describe('4.4 "copying": allocation ratios', () => {
  const of = async (options: TrackerStageOptions["options"], row: Partial<ComputeNode> = {}) => {
    const stage = staged({ row, options: options ?? {} });
    const { cpuAllocationRatio, ramAllocationRatio, diskAllocationRatio } = (await init(stage)).node.row;
    return [cpuAllocationRatio, ramAllocationRatio, diskAllocationRatio];
  };
  const known = { cpuAllocationRatio: 2, ramAllocationRatio: 3, diskAllocationRatio: 5 };
  const initial = { initialCpuAllocationRatio: 16, initialRamAllocationRatio: 1.5, initialDiskAllocationRatio: 1.2 };

  test("the option, else what the row has, else the initial one", async () => {
    expect(
      await of({ cpuAllocationRatio: 7, ramAllocationRatio: 8, diskAllocationRatio: 9, ...initial }, known),
    ).toEqual([7, 8, 9]);
    expect(await of({ cpuAllocationRatio: 0, ...initial }, known)).toEqual([2, 3, 5]);
    const none = { cpuAllocationRatio: 0, ramAllocationRatio: 0, diskAllocationRatio: 0 };
    expect(await of(initial, none)).toEqual([16, 1.5, 1.2]);
  });

  test("a driver that knows no CPU says so by an empty text", async () => {
    const stage = staged({ row: {} });
    const { node } = await init(stage, { ...RESOURCES, cpuInfo: null });
    expect(node.row.cpuInfo).toBe("");
  });
});
