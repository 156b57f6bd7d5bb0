import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { EvacuatedServer } from "../fixtures/evacuated-server.js";
import type { VirtualCloud } from "../fixtures/virtual-cloud.js";

let world: EvacuatedServer;
let cloud: VirtualCloud;

beforeEach(async () => {
  world = await EvacuatedServer.open();
  ({ cloud } = world);
});
afterEach(() => world.close());

async function serverIs(status: string, host: string): Promise<void> {
  await cloud.serverIs(
    world.id,
    (server) =>
      server?.["OS-EXT-SRV-ATTR:host"] === host && server.status === status && server["OS-EXT-STS:task_state"] === null,
  );
}

const evacuationStatus = () => world.moves().at(-1)?.status;

async function beginsAs(vmState: string): Promise<void> {
  if (vmState === "stopped") {
    await world.act({ "os-stop": null });
    await serverIs("SHUTOFF", "devstack1");
  }
}

/**
 * Kills the source, or disconnects and fences it, when its rebuild has destroyed the guest and has not created the next
 * one.
 */
async function losesItsGuest(how: "dies" | "is fenced" = "dies"): Promise<void> {
  const slow = { kind: "slow", milliseconds: 60_000 } as const;
  world.faultsOf.get("devstack1")?.set({ point: "agent.rebuild_instance.spawn", action: slow, times: 1 });
  await world.act({ rebuild: { imageRef: await cloud.image() } });
  await cloud.world.advance(30_000);
  expect(await world.traces()).toEqual([]);
  await (how === "dies" ? world.dies("devstack1") : world.service("devstack1", true));
}

async function evacuateTo(host: string): Promise<void> {
  const reply = await cloud.compute("POST", `/servers/${world.id}/action`, { evacuate: { host, force: true } }, "2.60");
  expect(reply.status).toBe(200);
}

/** Evacuates to a host that dies before it has received the message, and starts again. */
async function evacuationComesToNothing(): Promise<void> {
  world.processes.get("devstack3")?.kill();
  await evacuateTo("devstack3");
  await cloud.world.advance(5_000);
  expect(evacuationStatus()).toBe("accepted");
}

describe("6.7 row 1 OPT an evacuation takes a server from a rebuild that has destroyed its guest", () => {
  test.each(["active", "stopped"])(
    "%s: it fails before it makes a guest, and the server is in error",
    async (vmState) => {
      await beginsAs(vmState);
      await losesItsGuest();
      await evacuationComesToNothing();
      expect(world.instance()).toMatchObject({ vmState, taskState: "rebuilding" });
      await world.start("devstack3");
      expect(evacuationStatus()).toBe("failed");
      expect(world.instance()).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
      await world.start("devstack1");
      await cloud.world.advance(120_000);
      expect(world.instance()).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
      await world.hasEnded("devstack1");
    },
  );

  test.each(["active", "stopped"])("%s: its source returns first, and the server is in error", async (vmState) => {
    await beginsAs(vmState);
    await losesItsGuest();
    await evacuationComesToNothing();
    await world.start("devstack1");
    await world.start("devstack3");
    await cloud.world.advance(120_000);
    expect(evacuationStatus()).toBe("failed");
    expect(world.instance()).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    await world.hasEnded("devstack1");
  });

  test("its source was only fenced, and its rebuild fails before the evacuation does: the server is in error", async () => {
    await beginsAs("stopped");
    await losesItsGuest("is fenced");
    await evacuationComesToNothing();
    // The rebuild continues, and finds the evacuation.
    await cloud.world.advance(60_000);
    expect(world.instance()).toMatchObject({ vmState: "stopped", taskState: "rebuilding" });
    await world.start("devstack3");
    expect(evacuationStatus()).toBe("failed");
    await cloud.world.advance(120_000);
    expect(world.instance()).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
  });

  test("a second evacuation, which takes it from the first, fails too: the server is in error", async () => {
    await beginsAs("stopped");
    await losesItsGuest();
    await evacuationComesToNothing();
    await evacuateTo("devstack3");
    await cloud.world.advance(5_000);
    await world.start("devstack3");
    await world.start("devstack1");
    await cloud.world.advance(120_000);
    expect(world.instance()).toMatchObject({ host: "devstack1", vmState: "error", taskState: null });
    await world.hasEnded("devstack1");
  });

  test.each([
    ["active", "ACTIVE"],
    ["stopped", "SHUTOFF"],
  ])("%s: it succeeds, and the server is as it was", async (vmState, status) => {
    await beginsAs(vmState);
    await losesItsGuest();
    await evacuateTo("devstack2");
    await serverIs(status, "devstack2");
    await world.start("devstack1");
    await cloud.world.advance(120_000);
    await world.expectConsistent("devstack2");
    expect(world.instance()).toMatchObject({ vmState, taskState: null });
  });

  test("active, API 2.95: it succeeds, and the server is left shut off as any active server", async () => {
    await losesItsGuest();
    await cloud.compute("POST", `/servers/${world.id}/action`, { evacuate: { host: "devstack2" } }, "2.95");
    await serverIs("SHUTOFF", "devstack2");
    await world.start("devstack1");
    await cloud.world.advance(120_000);
    await world.expectConsistent("devstack2");
  });

  test("a server that was rebuilt, and is at rest, keeps its state when a later evacuation comes to nothing", async () => {
    await losesItsGuest();
    await evacuateTo("devstack2");
    await serverIs("ACTIVE", "devstack2");
    await world.start("devstack1");
    await cloud.world.advance(120_000);
    await world.dies("devstack2");
    await evacuationComesToNothing();
    await world.start("devstack3");
    await world.start("devstack2");
    await cloud.world.advance(120_000);
    expect(evacuationStatus()).toBe("failed");
    expect(world.instance()).toMatchObject({ host: "devstack2", vmState: "active", taskState: null });
    await world.expectConsistent("devstack2");
  });
});
