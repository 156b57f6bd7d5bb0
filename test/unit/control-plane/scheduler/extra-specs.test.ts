import { beforeEach, describe, expect, it } from "vitest";
import type { AggregateRules } from "../../../../src/control-plane/scheduler/schedule-request.js";
import { withImageProperties } from "../../../../src/records/index.js";
import { NO_RULES } from "../../../fixtures/scheduler-rules.js";
import { ConductorBench, FLAVOR, NEED } from "../conductor/tasks/bench.js";

const I = "cccccccc-0000-4000-8000-000000000001";
const SPEC = {
  instanceUuid: I,
  projectId: "project",
  userId: "user",
  imageRef: "image",
  isBfv: false,
  availabilityZone: null,
  numInstances: 1,
  schedulerHints: {},
};

let bench: ConductorBench;

beforeEach(async () => {
  bench = await ConductorBench.open();
});

async function select(extraSpecs: Readonly<Record<string, string>>, instance = I) {
  const { selection } = await bench.scheduler.selectDestination({
    instanceUuid: instance,
    spec: { ...SPEC, flavor: { ...FLAVOR, extraSpecs } },
    held: "replace",
    requestId: "req-1",
  });
  return selection;
}
const query = () => bench.placementBench.sent.findLast(({ path }) => path.includes("candidates"))?.path ?? "";

/** Adds a graphics card below the host's provider. */
async function card(host: string, uuid: string, traits: readonly string[] = []): Promise<void> {
  const root = bench.store.computeNodes.byHost(host)[0]?.uuid ?? "";
  const tree = await bench.placement.getProviderTreeAndEnsureRoot(root, host);
  tree.newChild(`${host}_${uuid.slice(0, 1)}`, root, uuid);
  const total = 1;
  tree.updateInventory(uuid, {
    VGPU: { total, reserved: 0, minUnit: 1, maxUnit: total, stepSize: 1, allocationRatio: 1 },
  });
  tree.addTraits(uuid, ...traits);
  await bench.placement.updateFromProviderTree(tree);
}

const PLAIN = "11111111-0000-4000-8000-000000000001";
const FAST = "22222222-0000-4000-8000-000000000002";
const OTHER = "33333333-0000-4000-8000-000000000003";

describe("extra specs at the scheduler", () => {
  it("are sent to Placement as by Nova: traits, suffixed groups, their policy", async () => {
    const root = await bench.host("devstack1");
    await card("devstack1", PLAIN);
    await card("devstack1", FAST, ["CUSTOM_FAST"]);
    const chosen = await select({
      "trait:COMPUTE_NODE": "required",
      "trait:HW_CPU_X86_VMX": "forbidden",
      "resources_A:VGPU": "1",
      "trait_A:CUSTOM_FAST": "required",
      "resources_B:VGPU": "1",
      group_policy: "isolate",
    });
    expect(query()).toBe(
      "/allocation_candidates?group_policy=isolate&limit=1000&required=COMPUTE_NODE,!HW_CPU_X86_VMX" +
        "&required_A=CUSTOM_FAST&resources=DISK_GB:1,MEMORY_MB:512,VCPU:1&resources_A=VGPU:1&resources_B=VGPU:1" +
        "&root_required=!COMPUTE_STATUS_DISABLED,OWNER_NOVA",
    );
    const cards = { [FAST]: { resources: { VGPU: 1 } }, [PLAIN]: { resources: { VGPU: 1 } } };
    expect(chosen?.allocationRequest).toEqual({ [root]: { resources: NEED }, ...cards });
    expect(await bench.held(I)).toEqual({ devstack1: NEED, [FAST]: { VGPU: 1 }, [PLAIN]: { VGPU: 1 } });
  });

  it("are named in NoValidHost if no host has them", async () => {
    await bench.host("devstack1");
    await card("devstack1", PLAIN, ["CUSTOM_FAST"]);
    const specs = { "resources1:VGPU": "1", "trait1:CUSTOM_FAST": "forbidden" };
    await expect(select(specs)).rejects.toMatchObject({
      explanation: expect.stringContaining("No host has VCPU=1, MEMORY_MB=512, DISK_GB=1; 1: VGPU=1, !CUSTOM_FAST"),
    });
  });

  it("of several groups without a policy are rejected before a request to Placement", async () => {
    await bench.host("devstack1");
    await expect(select({ "resources1:VGPU": "1", "resources2:VGPU": "1" })).rejects.toMatchObject({
      explanation: expect.stringContaining("set the flavor's extra spec group_policy to none or isolate"),
    });
    expect(query()).toBe("");
  });

  it("turn dedicated CPUs into PCPUs, also if the image requires them", async () => {
    await bench.host("devstack1");
    const server = await bench.server("devstack1");
    bench.store.instances.save(server.uuid, {
      systemMetadata: withImageProperties({}, { hw_cpu_policy: "dedicated", "trait:CUSTOM_FAST": "required" }),
    });
    await expect(select({}, server.uuid)).rejects.toThrow();
    expect(query()).toContain("required=CUSTOM_FAST&resources=DISK_GB:1,MEMORY_MB:512,PCPU:1&");
  });
});

it("hosts that lack requirements of image or extra specs are rejected, whatever their capacity", async () => {
  await bench.host("devstack1");
  const node = bench.store.computeNodes.byHost("devstack1")[0]?.id ?? 0;
  bench.store.computeNodes.save(node, { supportedHvSpecs: [["x86_64", "kvm", "hvm"]] });
  const server = await bench.server("devstack1");
  const image = (architecture: string) =>
    bench.store.instances.save(server.uuid, { systemMetadata: withImageProperties({}, { architecture }) });
  image("aarch64");
  await expect(select({}, server.uuid)).rejects.toMatchObject({
    explanation: expect.stringContaining("of another architecture"),
  });
  image("x86_64");
  await expect(select({ "capabilities:hypervisor_type": "Xen" }, server.uuid)).rejects.toMatchObject({
    explanation: expect.stringContaining("without the capabilities"),
  });
  expect((await select({}, server.uuid)).host).toBe("devstack1");
});

describe("the multipliers of weighers", () => {
  it("are those of the host's current aggregates", async () => {
    await bench.host("large", { memoryMb: 8192 });
    await bench.host("small", { memoryMb: 4096 });
    const host = async () => {
      const selection = await select({});
      await bench.placement.deleteAllocation(I, { force: true });
      return selection.host;
    };
    expect(await host()).toBe("large");
    const { id } = bench.store.aggregates.create({ name: "a", metadata: { ram_weight_multiplier: "-1.5" } });
    bench.store.aggregates.addHost(id, "large");
    expect(await host()).toBe("small");
    bench.store.aggregates.update(id, { metadata: { ram_weight_multiplier: "2" } });
    expect(await host()).toBe("large");
  });
});

describe("aggregates", () => {
  const open = async (rules: Partial<AggregateRules>) => {
    bench = await ConductorBench.open({ aggregates: { ...NO_RULES, ...rules } });
    for (const host of ["devstack1", "devstack2"]) {
      await bench.host(host);
    }
  };
  const aggregate = async (host: string, metadata: Readonly<Record<string, string>>) => {
    const { id, uuid } = bench.store.aggregates.create({ name: `of ${host}`, metadata });
    bench.store.aggregates.addHost(id, host);
    await bench.placement.aggregateAddHost(uuid, host);
    return uuid;
  };

  it("limit_tenants_to_placement_aggregate restricts a project to the aggregates that name it", async () => {
    await open({ limitTenants: true });
    const other = await aggregate("devstack1", { filter_tenant_id: "somebody" });
    await select({});
    expect(query()).not.toContain("member_of");
    const own = await aggregate("devstack2", { filter_tenant_id3: "project" });
    expect((await select({}))?.host).toBe("devstack2");
    expect(query()).toContain(`&member_of=in:${own}&`);
    expect(query()).not.toContain(other);
  });

  it("placement_aggregate_required_for_tenants rejects projects that no aggregate names", async () => {
    await open({ limitTenants: true, aggregateRequired: true });
    await expect(select({})).rejects.toThrow("No hosts available for tenant");
    await open({ aggregateRequired: true });
    expect(await select({})).toBeDefined();
  });

  it("enable_isolated_aggregate_filtering reserves aggregates for servers that require their traits", async () => {
    await open({ isolate: true });
    const licensed = await aggregate("devstack1", { "trait:CUSTOM_LICENSED": "required", "trait:OTHER": "forbidden" });
    expect((await select({}))?.host).toBe("devstack2");
    expect(query()).toContain(`&member_of=!in:${licensed}&`);
    await card("devstack1", OTHER, ["CUSTOM_LICENSED"]);
    expect((await select({ "resources1:VGPU": "1", "trait1:CUSTOM_LICENSED": "required" }))?.host).toBe("devstack1");
    expect(query()).not.toContain("member_of");
  });
});
