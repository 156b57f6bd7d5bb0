import { describe, expect, test } from "vitest";
import type { QuirkName } from "../../src/config/quirks.js";
import type { TestAgent } from "../fixtures/tracker-world.js";
import type { FakeNode } from "../unit/drivers/ironic/support/fake-ironic.js";
import { IronicWorld } from "./ironic-world.js";

/** Returns the number of nodes without a provider. */
async function lost(world: IronicWorld, nodes: readonly FakeNode[]): Promise<number> {
  const reserved = await Promise.all(nodes.map((node) => world.reserved(node)));
  return reserved.filter((units) => units === undefined).length;
}

/** Runs the action once, at the next request to Ironic that lists nodes, before its response. */
function whileListing(world: IronicWorld, action: () => Promise<void>): void {
  world.ironic.fault = async ({ path }) => {
    if (!path.startsWith("/v1/nodes?") || path.includes("instance_uuid=")) {
      return undefined;
    }
    world.ironic.fault = () => undefined;
    await action();
    return undefined;
  };
}

describe("bug 1750450: Ironic is away, and its list is empty", () => {
  const meanwhile = async (quirks: readonly QuirkName[]) => {
    const world = await IronicWorld.create({ checked: quirks.length < 2 });
    const nodes = world.nodes(5);
    const agent = await world.agent("h1", quirks);
    world.ironic.fault = () => "refused";
    await world.pass(agent);
    return lost(world, nodes);
  };

  test("the old order loses every provider", async () => {
    expect(await meanwhile(["ironic-empty-list-on-error", "ironic-unlisted-is-deleted"])).toBe(5);
  });

  test.each([
    ["the pass is skipped", []],
    ["or each node is asked for before it is deleted", ["ironic-empty-list-on-error"]],
    ["whatever is thought of nodes that are not listed", ["ironic-unlisted-is-deleted"]],
  ] as const)("%s: none is lost", async (_, quirks) => {
    expect(await meanwhile(quirks)).toBe(0);
  });
});

describe("bug 1839560: a node is deleted, and enrolled again under its uuid", () => {
  const afterwards = async (quirks: readonly QuirkName[]) => {
    const world = await IronicWorld.create({ checked: quirks.length === 0 });
    const [node, other] = world.nodes(2);
    if (!node || !other) {
      throw new TypeError("two nodes");
    }
    const agent = await world.agent("h1", quirks);
    world.ironic.nodes.delete(node.uuid);
    await world.pass(agent);
    expect([await world.reserved(node), world.hostOf(node)]).toEqual([undefined, null]);
    expect(await world.reserved(other)).toBe(0);
    world.ironic.nodes.set(node.uuid, node);
    await world.pass(agent);
    return world.reserved(node);
  };

  test("the old order never makes it again", async () => {
    expect(await afterwards(["no-node-undelete"])).toBeUndefined();
  });

  test("its row is restored, and its provider made again", async () => {
    expect(await afterwards([])).toBe(0);
  });
});

describe("bug 1841481: an instance lands on a node while the nodes are listed", () => {
  const meanwhile = async (quirks: readonly QuirkName[]) => {
    const world = await IronicWorld.create({ checked: quirks.length < 2 });
    const [node] = world.nodes(3);
    if (!node) {
      throw new TypeError("three nodes");
    }
    const agent = await world.agent("h1", quirks);
    const { uuid } = world.instance();
    whileListing(world, () => world.build(agent, uuid, node));
    await world.pass(agent);
    expect(node.instance_uuid).toBe(uuid);
    return { world, agent, node, uuid };
  };

  test("the old order loses the provider, and what the instance holds with it", async () => {
    const { world, node, uuid } = await meanwhile(["ironic-instances-before-nodes", "ironic-unlisted-is-deleted"]);
    expect(await world.reserved(node)).toBeUndefined();
    expect(await world.world.held(uuid)).toEqual({});
  });

  test.each([
    ["nodes first, then the own instances", []],
    ["or each node is asked for before it is deleted", ["ironic-instances-before-nodes"]],
    ["whatever is thought of nodes that are not listed", ["ironic-unlisted-is-deleted"]],
  ] as const)("%s: the provider stays", async (_, quirks) => {
    const { world, agent, node, uuid } = await meanwhile(quirks);
    expect(await world.world.held(uuid)).toEqual({ [node.uuid]: { CUSTOM_BAREMETAL: 1 } });
    await world.pass(agent);
    expect(await world.reserved(node)).toBe(1);
  });

  test("the window that is left, an instance deleted between the two reads, hides its node for one pass only", async () => {
    const { world, agent, node, uuid } = await meanwhile([]);
    const call = agent.session.fail;
    agent.session.fail = ({ method }) => {
      if (method === "instances_by_host") {
        agent.session.fail = call;
        world.world.store.instances.destroy(uuid);
      }
      return undefined;
    };
    await world.pass(agent);
    expect(agent.hypervisor.nodes.has(node.uuid)).toBe(false);
    expect(await world.reserved(node)).toBe(1);
    Object.assign(node, { instance_uuid: null, provision_state: "available" });
    await world.pass(agent);
    expect(await world.reserved(node)).toBe(0);
  });
});

describe("bug 1853009: another host takes a node between this one's look at the rows and its delete", () => {
  const meanwhile = async (quirks: readonly QuirkName[]) => {
    const world = await IronicWorld.create({ checked: !quirks.includes("unguarded-node-delete") });
    const nodes = world.nodes(20);
    const first = await world.agent("h1", quirks);
    const second = await started(world, "h2", quirks);
    first.session.done = async ({ method }) => {
      if (method !== "compute_nodes_by_host") {
        return;
      }
      first.session.done = () => undefined;
      await world.pass(second);
    };
    await world.pass(first);
    for (const agent of [first, second, first, second]) {
      await world.pass(agent);
    }
    return { world, nodes };
  };

  /** Registers an agent with a node on record, so that it is in the hash ring; before its first pass. */
  const started = async (world: IronicWorld, host: string, quirks: readonly QuirkName[]): Promise<TestAgent> => {
    const agent = await world.registered(host, quirks);
    const [some] = world.world.store.computeNodes.list();
    if (!some) {
      throw new TypeError("there are nodes");
    }
    world.world.store.computeNodes.save(some.id, { host });
    return agent;
  };

  test("the old order deletes what the other has taken, and nobody makes it again", async () => {
    const { world, nodes } = await meanwhile(["unguarded-node-delete", "ironic-unlisted-is-deleted"]);
    expect(await lost(world, nodes)).toBeGreaterThan(0);
  });

  test.each([
    ["a node is asked for before it is deleted", []],
    ["or its row goes only while it is this host's", ["ironic-unlisted-is-deleted"]],
  ] as const)("%s: none is lost, and each node is of one host", async (_, quirks) => {
    const { world, nodes } = await meanwhile(quirks);
    expect(await lost(world, nodes)).toBe(0);
    expect(new Set(nodes.map((node) => world.hostOf(node)))).toEqual(new Set(["h1", "h2"]));
  });
});

describe("nodes that are not listed but there (the family of bug 1853009)", () => {
  const meanwhile = async (quirks: readonly QuirkName[]) => {
    const world = await IronicWorld.create({ checked: quirks.length === 0 });
    const nodes = world.nodes(4, { shard: "s1" });
    const agent = await world.agent("h1", quirks, { shard: "s1" });
    const [moved] = nodes;
    if (!moved) {
      throw new TypeError("four nodes");
    }
    moved.shard = "s2";
    await world.pass(agent);
    return { world, agent, moved };
  };

  test("the old order deletes the provider of a node that was given to another shard", async () => {
    const { world, moved } = await meanwhile(["ironic-unlisted-is-deleted"]);
    expect(await world.reserved(moved)).toBeUndefined();
  });

  test("its row and provider stay for the shard's own service, which takes them over as they are", async () => {
    const { world, agent, moved } = await meanwhile([]);
    expect([await world.reserved(moved), world.hostOf(moved)]).toEqual([0, "h1"]);
    const other = await world.agent("h2", [], { shard: "s2" });
    expect(world.hostOf(moved)).toBe("h2");
    await world.pass(agent);
    await world.pass(other);
    expect([await world.reserved(moved), world.hostOf(moved)]).toEqual([0, "h2"]);
  });
});

test("a host that is gone: another one takes its free nodes, providers and generations as they are", async () => {
  const world = await IronicWorld.create();
  const nodes = world.nodes(20);
  const first = await world.agent("h1");
  const [taken] = nodes;
  if (!taken) {
    throw new TypeError("twenty nodes");
  }
  const { uuid } = world.instance();
  await world.build(first, uuid, taken);
  await world.pass(first);
  const held = await world.world.held(uuid);
  world.world.store.services.update(world.world.store.services.getByHost("h1", "nova-compute")?.id ?? 0, {
    forcedDown: true,
  });
  const second = await world.agent("h2");
  expect(second.http.take().filter(({ method }) => method === "DELETE" || method === "POST")).toEqual([]);
  expect(nodes.filter((node) => world.hostOf(node) === "h2")).toHaveLength(19);
  // The instance still belongs to h1.
  expect(world.hostOf(taken)).toBe("h1");
  expect(await lost(world, nodes)).toBe(0);
  expect(await world.world.held(uuid)).toEqual(held);
});

test("4.3 step 4: a node deleted in Ironic loses its row first, then its provider", async () => {
  const world = await IronicWorld.create();
  const [gone, retained] = world.nodes(2);
  if (!gone || !retained) {
    throw new TypeError("two nodes");
  }
  const agent = await world.agent("h1");
  world.ironic.nodes.delete(gone.uuid);
  await world.pass(agent);
  const steps = agent.steps.filter((step) => /compute_node_destroy|DELETE/.test(step));
  expect(steps[0]).toContain("compute_node_destroy");
  expect(steps.at(-1)).toContain(`DELETE /resource_providers/${gone.uuid}`);
  expect(await world.reserved(retained)).toBe(0);
});

test("an unchanged pass of a hundred nodes writes nothing, and asks Ironic once", async () => {
  const world = await IronicWorld.create();
  world.nodes(100);
  const agent = await world.agent("h1");
  world.ironic.observedRequests.length = 0;
  await world.pass(agent);
  expect(world.ironic.requests()).toEqual(["GET /v1/nodes?fields=F"]);
  expect(agent.http.take().filter(({ method }) => method !== "GET")).toEqual([]);
});
