import { afterAll, describe, expect, it } from "vitest";
import { UndiciHttpClient } from "../../src/runtime/node/undici-http-client.js";
import { checkPersistedUsage } from "../fixtures/invariants-tracker.js";
import { FAKE_NODE, StubHypervisor } from "../fixtures/tracker-driver.js";
import { type TestAgent, TrackerWorld } from "../fixtures/tracker-world.js";
import { placementOfTests } from "./placement/placement-of-tests.js";

const pass = (agent: TestAgent, startup = false) => agent.tracker.updateAvailableResource({ startup });
const isWrite = ({ method }: { readonly method: string }): boolean => method === "PUT" || method === "POST";

describe("tracker and Debian's real Placement", () => {
  const http = new UndiciHttpClient();
  const real = placementOfTests();
  let seed = 0;

  afterAll(async () => {
    await http.close();
  });

  const setUp = async () => {
    const at = { http, endpoint: real().url };
    seed += 1;
    const world = await TrackerWorld.create(seed, { other: at });
    const hypervisor = new StubHypervisor("n1");
    const grow = () => {
      const node = hypervisor.nodes.get("n1") ?? FAKE_NODE;
      node.vcpus += 1;
      return node.vcpus;
    };
    return { world, hypervisor, at, grow };
  };

  /** Adds a trait like an operator, with a fresh generation, and retries until the write succeeds. */
  const editTraits = async (world: TrackerWorld, uuid: string, trait: string): Promise<void> => {
    for (let tries = 0; tries < 50; tries += 1) {
      const known = await world.admin.getProviderTraits(uuid);
      try {
        await world.admin.setTraitsForProvider(uuid, { ...known, traits: [...known.traits, trait] });
        return;
      } catch {
        // The agent wrote first.
      }
    }
    throw new Error(`trait ${trait} could not be set`);
  };

  const expectRight = async (world: TrackerWorld, agent: TestAgent, vcpus: number): Promise<void> => {
    const reader = world.client(http, real().url);
    const tree = await reader.getProviderTreeAndEnsureRoot(agent.nodeUuid, "made by the check, as it was missing");
    expect(tree.data(agent.nodeUuid).name, "V8, V10").toBe("n1");
    expect(tree.data("n1").inventory.VCPU?.total).toBe(vcpus);
    expect(tree.data("n1").traits).toContain("COMPUTE_NODE");
    checkPersistedUsage(world, agent);
  };

  const failures = (world: TrackerWorld) => world.logged("error", "resources of the node could not be updated");

  for (const [times, survived] of [
    [1, true],
    [3, true],
    [Number.POSITIVE_INFINITY, false],
  ] as const) {
    it(`4.7, 9.4 a second client raises the generation before ${times} of the agent's writes`, async () => {
      const { world, hypervisor, at, grow } = await setUp();
      const agent = await world.startedAgent("h1", hypervisor, at);
      const vcpus = grow();
      let left: number = times;
      agent.http.fault = async (request) => {
        if (isWrite(request) && left > 0) {
          left -= 1;
          await editTraits(world, agent.nodeUuid, `CUSTOM_T${agent.http.requests.length}`);
        }
        return undefined;
      };
      await pass(agent);
      const writes = agent.http.take().filter(isWrite);
      expect(writes.map(({ status }) => status)).toEqual(
        survived ? [...Array.from({ length: times }, () => 409), 200] : [409, 409, 409, 409],
      );
      expect(failures(world)).toBe(survived ? 0 : 1);
      agent.http.fault = () => undefined;
      await pass(agent);
      await expectRight(world, agent, vcpus);
      const { traits } = await world.admin.getProviderTraits(agent.nodeUuid);
      expect(traits.filter((trait) => trait.startsWith("CUSTOM_T")).length, "no edit of the operator is lost").toBe(
        survived ? times : 4,
      );
    });
  }

  it("4.7, 9.4 no edit is lost beside a second client that writes continuously", async () => {
    const { world, hypervisor, at, grow } = await setUp();
    const agent = await world.startedAgent("h1", hypervisor, at);
    const operator = (async () => {
      for (let index = 0; index < 15; index += 1) {
        await editTraits(world, agent.nodeUuid, `CUSTOM_N${index}`);
      }
    })();
    let vcpus = 0;
    for (let index = 0; index < 15; index += 1) {
      vcpus = grow();
      await pass(agent);
    }
    await operator;
    await pass(agent);
    await expectRight(world, agent, vcpus);
    const { traits } = await world.admin.getProviderTraits(agent.nodeUuid);
    expect(traits.filter((trait) => trait.startsWith("CUSTOM_N"))).toHaveLength(15);
  });

  it("4.6, 9.4 an allocation that another client writes during the pass is neither lost nor cleaned up", async () => {
    const { world, hypervisor, at, grow } = await setUp();
    const agent = await world.startedAgent("h1", hypervisor, at);
    const vm = world.instance();
    const vcpus = grow();
    let claimed = false;
    agent.http.fault = async (request) => {
      if (isWrite(request) && !claimed) {
        claimed = true;
        await world.claim(vm, agent.nodeUuid);
      }
      return undefined;
    };
    await pass(agent);
    await pass(agent);
    await expectRight(world, agent, vcpus);
    expect(Object.keys(await world.held(vm.uuid))).toEqual([agent.nodeUuid]);
  });

  it("V10, 9.4 a provider deleted between passes, or before any request of a pass, exists again after two", async () => {
    const { world, hypervisor, at, grow } = await setUp();
    const agent = await world.startedAgent("h1", hypervisor, at);
    for (let doomed = 0; doomed < 8; doomed += 1) {
      const vcpus = grow();
      agent.http.take();
      agent.http.fault = async () => {
        if (agent.http.requests.length === doomed) {
          await world.admin.deleteResourceProvider(agent.nodeUuid);
          world.admin.clearProviderCache();
        }
        return undefined;
      };
      await pass(agent);
      agent.http.fault = () => undefined;
      await pass(agent);
      await expectRight(world, agent, vcpus);
    }
  });

  it("5.3 row 1, 9.4 a duplicate node name is logged with its remedy, and resolved once the name is free", async () => {
    const { world, hypervisor, at } = await setUp();
    const squatter = world.runtime.random.uuid();
    await world.admin.getProviderTreeAndEnsureRoot(squatter, "n1");
    const agent = await world.startedAgent("h1", hypervisor, at);
    expect(failures(world)).toBe(1);
    const [entry] = world.runtime.logs.filter(({ message }) => message.includes("could not be updated"));
    expect(String(entry?.fields.err)).toMatch(/ResourceProviderCreationFailed.*n1/s);
    await pass(agent);
    expect(failures(world)).toBe(2);
    await world.admin.deleteResourceProvider(squatter);
    await pass(agent);
    await expectRight(world, agent, FAKE_NODE.vcpus);
  });

  it("9.4 after Placement is killed before any request of a pass and restarted, the next passes are complete", async () => {
    for (let doomed = 0; ; doomed += 1) {
      await real().reset();
      const { world, hypervisor, at } = await setUp();
      const agent = await world.agent("h1", hypervisor, at);
      let killed = false;
      agent.http.fault = () => {
        if (agent.http.requests.length === doomed && !killed) {
          killed = true;
          real().kill();
        }
        return undefined;
      };
      await pass(agent, true);
      if (!killed) {
        expect(doomed).toBeGreaterThan(3);
        return;
      }
      expect(failures(world), `killed before request ${doomed}`).toBe(1);
      await real().restart();
      await pass(agent);
      await pass(agent);
      await expectRight(world, agent, FAKE_NODE.vcpus);
    }
  });
});
