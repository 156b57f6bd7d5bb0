import { describe, expect, test } from "vitest";
import { ReshapeNeeded, VirtDriverNotReady } from "../../src/virt/errors.js";
import { checkPersistedUsage, checkProviders, checkUsage } from "../fixtures/invariants-tracker.js";
import { StubHypervisor } from "../fixtures/tracker-driver.js";
import { CONFLICT, type RequestFault } from "../fixtures/tracker-http.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";

const pass = (agent: TestAgent, startup = false) => agent.tracker.updateAvailableResource({ startup });

/** Each kind of pass, so that a fault can be injected at each of its requests to Placement. */
const PASSES = {
  "the first pass": async (world: TrackerWorld) => {
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.agent("h1", hypervisor);
    return { agent, run: () => pass(agent, true) };
  },
  "the pass after a restart": async (world: TrackerWorld) => {
    const hypervisor = new StubHypervisor("n1");
    await world.startedAgent("h1", hypervisor);
    const agent = await world.agent("h1", hypervisor);
    await world.placed({ ...agent, host: "h1" });
    return { agent, run: () => pass(agent, true) };
  },
  "a pass with a change, and an allocation to clean up": async (world: TrackerWorld) => {
    const hypervisor = new StubHypervisor("n1");
    const agent = await world.startedAgent("h1", hypervisor);
    const vm = await world.placed(agent);
    world.store.instances.destroy(vm.uuid);
    const node = hypervisor.nodes.get("n1");
    if (node) {
      node.vcpus += 8;
    }
    return { agent, run: () => pass(agent) };
  },
} as const;

const FAULTS: Readonly<Record<string, { readonly fault: RequestFault; readonly times: number }>> = {
  "409 once": { fault: CONFLICT, times: 1 },
  "409 four times": { fault: CONFLICT, times: 4 },
  "409 for ever": { fault: CONFLICT, times: Number.POSITIVE_INFINITY },
  "500": { fault: { status: 500 }, times: 1 },
  "connection refused": { fault: "refused", times: 1 },
  "connection refused from here on": { fault: "refused", times: Number.POSITIVE_INFINITY },
  "slower than its time-out": { fault: "slow", times: 1 },
  "slower than its time-out from here on": { fault: "slow", times: Number.POSITIVE_INFINITY },
  "answer lost after commit": { fault: "answer lost", times: 1 },
};

/** Returns the number of requests that the pass sends without a fault. */
async function requestsOf(kind: keyof typeof PASSES): Promise<number> {
  const { agent, run } = await PASSES[kind](await TrackerWorld.create());
  await run();
  return agent.http.requests.length;
}

describe.each(Object.keys(PASSES) as (keyof typeof PASSES)[])("9.4 faults at each request of %s", (kind) => {
  test.each(Object.entries(FAULTS))(
    "9.4 %s: the pass ends, the agent lives, two passes later all is right",
    async (_, { fault, times }) => {
      const requests = await requestsOf(kind);
      expect(requests).toBeGreaterThan(2);
      for (let at = 0; at < requests; at += 1) {
        const world = await TrackerWorld.create(`${kind} ${at}`);
        const { agent, run } = await PASSES[kind](world);
        let left = times;
        agent.http.fault = (_request, index) => {
          if (index < at || left <= 0) {
            return undefined;
          }
          left -= 1;
          return fault;
        };
        await run();
        // V30: at most four attempts of an update, each with no more requests than a first pass.
        expect(agent.http.requests.length, `requests with the fault at ${at}`).toBeLessThanOrEqual(4 * 8 + 4);
        checkUsage(world, agent);
        agent.http.fault = () => undefined;
        await isRight(world, agent, `fault at ${at}`);
      }
    },
  );
});

/** Checks that two passes after the fault everything is consistent. */
async function isRight(world: TrackerWorld, agent: TestAgent, step: string): Promise<void> {
  await pass(agent);
  await pass(agent);
  checkPersistedUsage(world, agent);
  await checkProviders(world, agent);
  const tree = await world.admin.getProviderTreeAndEnsureRoot(agent.nodeUuid, "n1");
  expect(tree.data("n1").inventory.VCPU?.total, step).toBe(agent.hypervisor.nodes.get("n1")?.vcpus);
  expect(tree.data("n1").traits, step).toContain("COMPUTE_NODE");
  world.admin.clearProviderCache();
}

/** External changes before one step of a pass: a request, or a call to the conductor or to the driver. */
const MEDDLING: Readonly<Record<string, (world: TrackerWorld, agent: TestAgent) => void | Promise<void>>> = {
  "the node's row is deleted": (world, { host }) => {
    for (const { id } of world.store.computeNodes.byHost(host)) {
      world.store.computeNodes.destroy(id, host);
    }
  },
  "the provider is deleted": async (world, { nodeUuid }) => {
    for (const instance of world.store.instances.list({})) {
      await release(world, instance.uuid);
    }
    await world.admin.deleteResourceProvider(nodeUuid).catch(() => undefined);
  },
  "an operator edits the traits": async (world, { nodeUuid }) => {
    const found = await world.admin.getProviderTraits(nodeUuid).catch(() => null);
    if (found) {
      await world.admin.setTraitsForProvider(nodeUuid, { ...found, traits: [...found.traits, "CUSTOM_GOLD"] });
    }
  },
  "the instances are deleted": async (world) => {
    for (const { uuid } of world.store.instances.list({})) {
      await release(world, uuid);
      world.store.instances.destroy(uuid);
    }
  },
  "the driver raises": () => {
    throw new TypeError("monitor socket closed");
  },
};

const release = (world: TrackerWorld, uuid: string) => world.admin.deleteAllocation(uuid, { force: true });

describe.each(Object.keys(PASSES) as (keyof typeof PASSES)[])("9.4 external changes at each step of %s", (kind) => {
  test.each(Object.entries(MEDDLING))(
    "9.4 %s: the pass ends, the agent lives, two passes later all is right",
    async (what, meddle) => {
      for (let at = 0; ; at += 1) {
        const world = await TrackerWorld.create(`${kind} ${at}`);
        const { agent, run } = await PASSES[kind](world);
        let stepCount = 0;
        let meddling = false;
        const step = async (): Promise<void> => {
          if (meddling) {
            return;
          }
          stepCount += 1;
          if (stepCount - 1 !== at) {
            return;
          }
          meddling = true;
          await meddle(world, agent);
          meddling = false;
        };
        if (what !== "the driver raises") {
          agent.http.note = agent.session.note = step;
        }
        agent.hypervisor.note = step;
        await run().catch((error: unknown) => expect(error, `step ${at}`).toBeInstanceOf(TypeError));
        const steps = stepCount;
        agent.http.note = agent.session.note = agent.hypervisor.note = () => undefined;
        await isRight(world, agent, `step ${at}`);
        if (at >= steps) {
          expect(at).toBeGreaterThan(1);
          return;
        }
      }
    },
  );

  test("9.4 the agent is killed: the passes of the next agent restore consistency", async () => {
    for (let at = 0; ; at += 1) {
      const world = await TrackerWorld.create(`${kind} ${at}`);
      const { agent, run } = await PASSES[kind](world);
      agent.steps.length = 0;
      const dead = agent.dieBefore(at);
      const survived = await Promise.race([dead.then(() => false), run().then(() => true)]);
      const successor = await world.agent("h1", agent.hypervisor);
      await isRight(world, successor, `step ${at}`);
      if (survived) {
        expect(at).toBeGreaterThan(8);
        return;
      }
    }
  });
});

describe("4.7 redrive", () => {
  const changed = async () => {
    const world = await TrackerWorld.create();
    const agent = await world.startedAgent("h1", new StubHypervisor("n1"));
    const node = agent.hypervisor.nodes.get("n1");
    if (node) {
      node.vcpus = 7;
    }
    return { world, agent };
  };
  const attempts = (agent: TestAgent) =>
    agent.hypervisor.calls.filter((call) => call === "updateProviderTree n1").length;
  const inventories = ({ method, path }: { method: string; path: string }) =>
    method === "PUT" && path.endsWith("inventories");

  test("4.7 the generation changes externally: attempt 2 reads everything, calls the driver again, and writes", async () => {
    const { world, agent } = await changed();
    agent.hypervisor.calls.length = 0;
    const { traits, generation } = await world.admin.getProviderTraits(agent.nodeUuid);
    await world.admin.setTraitsForProvider(agent.nodeUuid, { traits: [...traits, "CUSTOM_X"], generation });
    await pass(agent);
    expect(attempts(agent)).toBe(2);
    expect(
      agent.http
        .take()
        .filter(inventories)
        .map(({ status }) => status),
    ).toEqual([409, 200]);
    expect((await world.admin.getProviderTraits(agent.nodeUuid)).traits).toContain("CUSTOM_X");
  });

  test("4.7, V30 a permanent conflict: 4 attempts, then logged; the row is not saved (Placement first)", async () => {
    const { world, agent } = await changed();
    agent.hypervisor.calls.length = 0;
    agent.http.fault = (request) => (inventories(request) ? CONFLICT : undefined);
    await pass(agent);
    expect(attempts(agent)).toBe(4);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
    expect(world.store.computeNodes.getByHostAndNode("h1", "n1")?.vcpus).toBe(1000);
  });

  test("4.7 sync failures other than conflicts are not redriven", async () => {
    const { agent } = await changed();
    agent.hypervisor.calls.length = 0;
    agent.http.fault = (request) => (inventories(request) ? { status: 500 } : undefined);
    await pass(agent);
    expect(attempts(agent)).toBe(1);
  });

  test("4.8 an inventory in use that vanishes: fatal at start-up, logged later", async () => {
    const { world, agent } = await changed();
    await world.placed(agent);
    agent.hypervisor.editTree = (tree) => tree.updateInventory("n1", { VCPU: { total: 7 } });
    await pass(agent);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
    await expect(pass(agent, true)).rejects.toMatchObject({ name: "PlacementPciException" });
  });

  test("8.1 the driver is not ready inside the update: that node is skipped", async () => {
    const { world, agent } = await changed();
    agent.hypervisor.fail = (method) => (method === "updateProviderTree" ? new VirtDriverNotReady("later") : undefined);
    await pass(agent, true);
    expect(world.logged("error", "resources of the node could not be updated")).toBe(1);
  });
});

describe("4.7 reshape", () => {
  const flatToNested = async () => {
    const world = await TrackerWorld.create();
    const hypervisor = new StubHypervisor("n1");
    hypervisor.editTree = (tree, node) =>
      tree.updateInventory(node, { ...tree.data(node).inventory, VGPU: { total: 4 } });
    const first = await world.startedAgent("h1", hypervisor);
    const vm = await world.placed(first, { flavor: world.flavor({ extraSpecs: { "resources:VGPU": "2" } }) });
    const child = world.runtime.random.uuid();
    hypervisor.editTree = (tree, node, allocations) => {
      const nested = tree.find(`${node}_vgpu`)?.inventory.VGPU !== undefined;
      if (!nested && !allocations) {
        throw new ReshapeNeeded("VGPU moves to a child");
      }
      if (!tree.exists(`${node}_vgpu`)) {
        tree.newChild(`${node}_vgpu`, node, child);
      }
      tree.updateInventory(`${node}_vgpu`, { VGPU: { total: 4 } });
      for (const held of allocations?.values() ?? []) {
        const { VGPU: vgpus, ...rest } = held.get(first.nodeUuid) ?? {};
        held.set(first.nodeUuid, rest);
        if (vgpus) {
          held.set(child, { VGPU: vgpus });
        }
      }
    };
    return { world, hypervisor, vm, child, root: first.nodeUuid };
  };

  test("4.7 at start-up inventory and allocations move in one step; the sums are preserved", async () => {
    const { world, hypervisor, vm, child, root } = await flatToNested();
    const agent = await world.agent("h1", hypervisor);
    await pass(agent, true);
    expect(agent.http.take().filter(({ path }) => path === "/reshaper")).toMatchObject([
      { status: 204, version: "1.30" },
    ]);
    expect(await world.held(vm.uuid)).toEqual({
      [root]: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 },
      [child]: { VGPU: 2 },
    });
    await pass(agent);
    checkPersistedUsage(world, agent);
  });

  test("4.7 outside of start-up it propagates and ends the run; nothing is written", async () => {
    const { world, hypervisor } = await flatToNested();
    const agent = await world.agent("h1", hypervisor);
    await expect(pass(agent)).rejects.toThrow(ReshapeNeeded);
    expect(agent.http.take().filter(({ method }) => method !== "GET")).toEqual([]);
  });

  test("4.7 a conflict of the reshape is redriven; another rejection is fatal", async () => {
    const { world, hypervisor, vm, child } = await flatToNested();
    const agent = await world.agent("h1", hypervisor);
    let conflicts = 1;
    agent.http.fault = ({ path }) => (path === "/reshaper" && conflicts-- > 0 ? CONFLICT : undefined);
    await pass(agent, true);
    expect(Object.keys(await world.held(vm.uuid))).toContain(child);
    const broken = await flatToNested();
    const other = await broken.world.agent("h1", broken.hypervisor);
    other.http.fault = ({ path }) => (path === "/reshaper" ? { status: 400 } : undefined);
    await expect(pass(other, true)).rejects.toMatchObject({ name: "ReshapeFailed" });
  });
});
