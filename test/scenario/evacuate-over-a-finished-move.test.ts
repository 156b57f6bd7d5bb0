import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EvacuatedServer } from "../fixtures/evacuated-server.js";

let world: EvacuatedServer;

beforeEach(async () => {
  world = await EvacuatedServer.open();
});
afterEach(() => world.close());

describe("6.7 OPT an evacuation of a server that waits for the confirmation of its move, whose destination has died", () => {
  async function isResized(body: object): Promise<void> {
    await world.act(body);
    await world.cloud.serverIs(world.id, (server) => server?.status === "VERIFY_RESIZE");
    expect(world.moves().at(-1)).toMatchObject({
      sourceCompute: "devstack1",
      destCompute: "devstack2",
      status: "finished",
    });
  }

  async function destinationDies(state = "error"): Promise<void> {
    await world.dies("devstack2");
    await world.act({ "os-resetState": { state } });
  }

  const evacuation = () => world.moves().findLast(({ migrationType }) => migrationType === "evacuation");

  function failsBeforeClaim(): void {
    const action = { kind: "fail", error: "ComputeResourcesUnavailable" } as const;
    world.faultsOf.get("devstack1")?.set({ point: "agent.evacuate_instance.claim", action, times: 1 });
  }

  async function hasFailed(): Promise<void> {
    await world.cloud.world.runUntil(() => ["failed", "error"].includes(evacuation()?.status ?? ""));
  }

  beforeEach(() => world.service("devstack3", true));

  test.each([
    ["cold migration", { migrate: { host: "devstack2" } }, "active", "1"],
    ["resize", { resize: { flavorRef: "2" } }, "error", "2"],
  ])("%s: the source takes it, and has a single guest", async (_, body, state, flavor) => {
    await isResized(body);
    await destinationDies(state);
    await world.evacuated("devstack1");
    expect(await world.held(world.id)).toEqual(expect.arrayContaining(["devstack1"]));
    expect(world.instance()?.systemMetadata).not.toHaveProperty("set_aside_by");
    await world.start("devstack2");
    await world.cloud.world.advance(120_000);
    await world.expectConsistent("devstack1");
    expect(world.instance()).toMatchObject({ taskState: null, oldFlavor: null, newFlavor: null });
    expect(world.instance()?.flavor.flavorid).toBe(flavor);
  });

  test("another host takes it: the guest on the source goes when the evacuation is done", async () => {
    await isResized({ migrate: { host: "devstack2" } });
    await world.service("devstack3", false);
    await destinationDies();
    await world.evacuated("devstack3");
    await world.cloud.world.advance(10_000);
    expect(await world.traces()).not.toContain("devstack1/domains");
    await world.start("devstack2");
    await world.cloud.world.advance(120_000);
    await world.expectConsistent("devstack3");
  });

  test.each(["claim", "probe", "spawn", "record"])(
    "the source dies before it has come to %s: the next evacuation recovers it",
    async (step) => {
      await isResized({ migrate: { host: "devstack2" } });
      await destinationDies();
      const slow = { kind: "slow", milliseconds: 120_000 } as const;
      world.faultsOf.get("devstack1")?.set({ point: `agent.evacuate_instance.${step}`, action: slow, times: 1 });
      await world.act({ evacuate: { host: "devstack1" } });
      await world.cloud.world.advance(60_000);
      world.processes.get("devstack1")?.kill();
      await world.start("devstack1");
      await hasFailed();
      await world.cloud.serverIs(world.id, (server) => server?.["OS-EXT-STS:task_state"] === null);
      await world.evacuated("devstack1");
      await world.start("devstack2");
      await world.cloud.world.advance(120_000);
      await world.expectConsistent("devstack1");
    },
  );

  test("the evacuation fails before the guest on the source is looked at: the destination returns, and drops that guest", async () => {
    await isResized({ migrate: { host: "devstack2" } });
    await destinationDies();
    failsBeforeClaim();
    await world.act({ evacuate: { host: "devstack1" } });
    await hasFailed();
    expect(await world.traces()).toContain("devstack1/domains");
    await world.start("devstack2");
    await world.cloud.world.advance(120_000);
    await world.expectConsistent("devstack2");
  });

  test("an earlier release has ended the move, and left its guest on the source: the next evacuation recovers it", async () => {
    await isResized({ migrate: { host: "devstack2" } });
    await destinationDies();
    failsBeforeClaim();
    await world.act({ evacuate: { host: "devstack1" } });
    await hasFailed();
    await world.cloud.serverIs(world.id, (server) => server?.["OS-EXT-STS:task_state"] === null);
    const { set_aside_by: _, ...systemMetadata } = world.instance()?.systemMetadata ?? {};
    world.cloud.store.instances.save(world.id, { systemMetadata });
    await world.evacuated("devstack1");
    await world.start("devstack2");
    await world.cloud.world.advance(120_000);
    await world.expectConsistent("devstack1");
  });
});
