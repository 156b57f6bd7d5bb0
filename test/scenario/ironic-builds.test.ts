import { describe, expect, test } from "vitest";
import type { AgentView } from "../../src/agent/context.js";
import { findInterruptedBuilds } from "../../src/agent/startup/interrupted-builds.js";
import type { TestAgent } from "../fixtures/tracker-world.js";
import { type FakeNode, fault } from "../unit/drivers/ironic/support/fake-ironic.js";
import { IronicWorld } from "./ironic-world.js";

async function started(count: number) {
  const world = await IronicWorld.create();
  const nodes = world.nodes(count);
  const agent = await world.agent("h1");
  const [node] = nodes;
  if (!node) {
    throw new TypeError("a node");
  }
  return { world, nodes, node, agent };
}

function states(world: IronicWorld, uuid: string) {
  const { vmState, taskState, host, node } = world.world.stored(uuid);
  return { vmState, taskState, host, node };
}

function remove(world: IronicWorld, agent: TestAgent, uuid: string) {
  return agent.operations.run("terminate_instance", {
    instanceUuid: world.world.stored(uuid).uuid,
    requestId: "req-delete",
  });
}

describe("6.1 building on bare metal", () => {
  test("the node is claimed, deployed and reserved; deleting gives it back", async () => {
    const { world, node, agent } = await started(2);
    const { uuid } = world.instance();
    await world.build(agent, uuid, node);
    expect(states(world, uuid)).toEqual({ vmState: "active", taskState: null, host: "h1", node: node.uuid });
    expect(world.world.stored(uuid).powerState).toBe(1);
    await world.pass(agent);
    expect(await world.reserved(node)).toBe(1);
    world.world.store.instances.save(uuid, { taskState: "deleting" });
    await remove(world, agent, uuid);
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
    expect(await world.world.held(uuid)).toEqual({});
    await world.pass(agent);
    expect(await world.reserved(node)).toBe(0);
  });

  test("a claim that another one won goes to the next host, its allocation released; nobody's node is touched", async () => {
    const { world, node, agent } = await started(2);
    const { uuid } = world.instance();
    const winner = "99999999-2222-4333-8444-555555555555";
    world.ironic.fault = ({ method }) => {
      if (method === "PATCH") {
        node.instance_uuid = winner;
      }
      return undefined;
    };
    await world.build(agent, uuid, node);
    expect(world.world.reschedules.map(({ instanceUuid, held }) => [instanceUuid, held])).toEqual([[uuid, {}]]);
    expect(states(world, uuid)).toMatchObject({ taskState: "scheduling", host: null, node: null });
    expect(node.instance_uuid).toBe(winner);
    expect(world.ironic.observedRequests.filter(({ method }) => method === "PUT")).toEqual([]);
  });

  test("a deployment that fails is torn down before the next host is tried", async () => {
    const { world, node, agent } = await started(1);
    const { uuid } = world.instance();
    world.ironic.deployEnds = "deploy failed";
    await world.build(agent, uuid, node);
    expect(world.world.reschedules.map(({ reason }) => reason)).toEqual([expect.stringContaining("disk is on fire")]);
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
    expect(await world.world.held(uuid)).toEqual({});
  });

  test("an instance that is deleted while its node is deployed is torn down and not tried elsewhere", async () => {
    const { world, node, agent } = await started(1);
    const { uuid } = world.instance();
    world.ironic.done = ({ method, path }) => {
      if (method !== "PUT" || !path.endsWith("/provision")) {
        return;
      }
      world.ironic.done = () => undefined;
      world.world.store.instances.save(uuid, { taskState: "deleting" });
    };
    await world.build(agent, uuid, node);
    expect(world.world.reschedules).toEqual([]);
    expect(states(world, uuid).taskState).toBe("deleting");
    expect(node).toMatchObject({ instance_uuid: null, provision_state: "available" });
    await remove(world, agent, uuid);
    expect(world.world.stored(uuid).deleted).not.toBe(0);
    expect(await world.world.held(uuid)).toEqual({});
  });

  test("a node that cannot be torn down after a failed build keeps its allocation's instance in error", async () => {
    const { world, node, agent } = await started(1);
    const { uuid } = world.instance();
    world.ironic.deployEnds = "deploy failed";
    world.ironic.fault = ({ body }) =>
      (body as { target?: string } | undefined)?.target === "deleted" ? fault(500, "boom") : undefined;
    await world.build(agent, uuid, node).catch(() => {});
    expect(states(world, uuid).vmState).toBe("error");
    expect(world.world.reschedules).toEqual([]);
    expect(node.instance_uuid).toBe(uuid);
  });

  test("ten builds on ten nodes, and ten on one node: each node has one instance", async () => {
    const { world, nodes, node, agent } = await started(10);
    const many = nodes.map(() => world.instance().uuid);
    await Promise.all(many.map((uuid, at) => world.build(agent, uuid, nodes[at] as FakeNode)));
    expect(nodes.map(({ instance_uuid }) => instance_uuid)).toEqual(many);
    await Promise.all(
      many.map((uuid) => {
        world.world.store.instances.save(uuid, { taskState: "deleting" });
        return remove(world, agent, uuid);
      }),
    );
    const rivals = nodes.map(() => world.instance());
    // Placement would allocate the node to one of them; Ironic decides if it did not.
    await Promise.all(
      rivals.map((instance) =>
        world.world.build(agent, instance, { node: node.uuid, retry: { numAttempts: 1, hosts: [] } }),
      ),
    );
    const winners = rivals.filter(({ uuid }) => world.world.stored(uuid).vmState === "active");
    expect(winners.map(({ uuid }) => uuid)).toEqual([node.instance_uuid]);
    expect(world.world.reschedules).toHaveLength(9);
  });

  test.each(["active", "error"] as const)("6.6 a rebuild from %s keeps node, claim and allocation", async (vmState) => {
    const { world, node, agent } = await started(1);
    const { uuid } = world.instance();
    await world.build(agent, uuid, node);
    const held = await world.world.held(uuid);
    world.world.store.instances.save(uuid, { vmState, taskState: "rebuilding" });
    world.ironic.observedRequests.length = 0;
    await agent.operations.run("rebuild_instance", {
      instanceUuid: uuid,
      migrationId: null,
      onSharedStorage: null,
      recreate: false,
      node: node.uuid,
      imageRef: "99999999-0000-4000-8000-000000000001",
      targetStopped: false,
      requestId: "req-rebuild",
    });
    expect(states(world, uuid)).toMatchObject({ vmState: "active", taskState: null });
    const targets = world.ironic.observedRequests.flatMap(
      ({ body }) => (body as { target?: string } | undefined)?.target ?? [],
    );
    expect(targets).toEqual(["rebuild"]);
    expect(node).toMatchObject({
      instance_uuid: uuid,
      instance_info: { image_source: "99999999-0000-4000-8000-000000000001" },
    });
    expect(await world.world.held(uuid)).toEqual(held);
  });
});

test("2.7 an agent that starts beside another one leaves the builds on nodes that are the other's still", async () => {
  const { world, node, agent } = await started(2);
  const { uuid } = world.instance();
  await world.world.claim(world.world.stored(uuid), node.uuid);
  const second = await world.registered("h2");
  const rows = world.world.store.computeNodes.list();
  const found = async ({ context }: TestAgent) => {
    const view = { ...context, logger: context.runtime.logger } as AgentView;
    return (await findInterruptedBuilds(view, rows, new Set())).map((instance) => instance.uuid);
  };
  expect(await found(second)).toEqual([]);
  expect(await found(agent)).toEqual([uuid]);
});

describe("9.4 a fault at each request of a build, and of a delete", () => {
  const build = async (at: number, what: "refused" | "answer lost") => {
    const { world, node, agent } = await started(1);
    const { uuid } = world.instance();
    world.ironic.observedRequests.length = 0;
    world.ironic.fault = (_, index) => (index === at ? what : undefined);
    await world.build(agent, uuid, node).catch(() => {});
    const requests = world.ironic.observedRequests.length;
    world.ironic.fault = () => undefined;
    return { world, node, agent, uuid, requests };
  };

  test.each(["refused", "answer lost"] as const)("%s: built, or given back and tried elsewhere", async (what) => {
    for (let at = 0; at < 10; at += 1) {
      const { world, node, agent, uuid } = await build(at, what);
      const { vmState } = states(world, uuid);
      await world.pass(agent);
      if (vmState === "active") {
        expect(node, `fault at ${at}`).toMatchObject({ instance_uuid: uuid, provision_state: "active" });
        expect(await world.world.held(uuid)).toEqual({ [node.uuid]: { CUSTOM_BAREMETAL: 1 } });
        expect(await world.reserved(node)).toBe(1);
      } else {
        expect(node, `fault at ${at}`).toMatchObject({ instance_uuid: null, provision_state: "available" });
        expect(world.world.reschedules, `fault at ${at}`).toHaveLength(1);
        expect(await world.world.held(uuid)).toEqual({});
        expect(await world.reserved(node)).toBe(0);
      }
    }
  });

  test.each(["refused", "answer lost"] as const)("%s: deleted, or as it was, to be deleted again", async (what) => {
    for (let at = 0; at < 5; at += 1) {
      const { world, node, agent, uuid } = await build(-1, what);
      world.world.store.instances.save(uuid, { taskState: "deleting" });
      world.ironic.observedRequests.length = 0;
      world.ironic.fault = (_, index) => (index === at ? what : undefined);
      await remove(world, agent, uuid).catch(() => {});
      world.ironic.fault = () => undefined;
      if (world.world.stored(uuid).deleted === 0) {
        world.world.store.instances.save(uuid, { taskState: "deleting" });
        await remove(world, agent, uuid);
      }
      expect(world.world.stored(uuid).deleted, `fault at ${at}`).not.toBe(0);
      expect(node, `fault at ${at}`).toMatchObject({ instance_uuid: null, provision_state: "available" });
      expect(await world.world.held(uuid)).toEqual({});
    }
  });
});
