import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { MigrationStatus } from "../../src/records/index.js";
import { EvacuatedServer } from "../fixtures/evacuated-server.js";
import type { VirtualCloud } from "../fixtures/virtual-cloud.js";

let world: EvacuatedServer;
let cloud: VirtualCloud;
let id: string;
let processes: EvacuatedServer["processes"];
let faultsOf: EvacuatedServer["faultsOf"];

const act = (body: object) => world.act(body);
const instance = () => world.instance();
const moves = () => world.moves();
const latest = () => moves().at(-1);
const traces = () => world.traces();
const held = (consumer: string) => world.held(consumer);
const service = (host: string, down: boolean) => world.service(host, down);
const start = (host: string) => world.start(host);
const dies = (host: string) => world.dies(host);
const evacuated = (host?: string) => world.evacuated(host);
const expectIntact = (host: string) => world.expectConsistent(host);
const hasEnded = (host: string) => world.hasEnded(host);

beforeEach(async () => {
  world = await EvacuatedServer.open();
  ({ cloud, id, processes, faultsOf } = world);
});
afterEach(() => world.close());

describe("6.7 an evacuation over a running move ends it", () => {
  const reaches = (status: MigrationStatus) => cloud.world.runUntil(() => latest()?.status === status);

  test.each<[string, object, MigrationStatus]>([
    ["cold migration", { migrate: { host: "devstack2" } }, "pre-migrating"],
    ["cold migration", { migrate: { host: "devstack2" } }, "migrating"],
    ["resize", { resize: { flavorRef: "2" } }, "pre-migrating"],
    ["resize", { resize: { flavorRef: "2" } }, "migrating"],
    ["live migration", { "os-migrateLive": { host: "devstack2", block_migration: "auto" } }, "accepted"],
    ["live migration", { "os-migrateLive": { host: "devstack2", block_migration: "auto" } }, "preparing"],
  ])("%s (%o), %s: its source dies", async (_, body, status) => {
    await act(body);
    await reaches(status);
    expect(instance()?.host).toBe("devstack1");
    await dies("devstack1");
    await evacuated();
    await start("devstack1");
    await cloud.world.advance(120_000);
    await expectIntact("devstack3");
    expect(instance()).toMatchObject({ taskState: null, oldFlavor: null, newFlavor: null });
    expect(instance()?.flavor.flavorid).toBe("1");
  });

  test.each([
    ["the source is there", false],
    ["the source is away, and comes back later", true],
  ])("cold migration, post-migrating: its destination dies, and %s", async (_, away) => {
    await act({ migrate: { host: "devstack2" } });
    await reaches("post-migrating");
    await dies("devstack2");
    if (away) {
      await dies("devstack1");
    }
    expect(instance()?.host).toBe("devstack2");
    await evacuated();
    if (away) {
      await start("devstack1");
    }
    await start("devstack2");
    await cloud.world.advance(120_000);
    await expectIntact("devstack3");
  });
});

describe("6.7 an evacuation that fails over a move leaves the guest that its source has set aside to that source", () => {
  /** The definition of the guest, and its state. */
  const guestFiles = async (host: string): Promise<readonly (string | undefined)[]> => {
    const { files } = cloud.runtime;
    const names = (await files.list(`/hypervisors/${host}/domains`)).filter((name) => name.startsWith(id));
    return Promise.all(names.map((name) => files.readIfPresent(`/hypervisors/${host}/domains/${name}`)));
  };

  const setAside = async (host: string) => (await guestFiles(host)).some((text) => text?.includes("left-behind"));

  /** Kills devstack1 when it has set the guest aside, before the next step of the move. */
  async function diesInMigration(): Promise<void> {
    const slow = { kind: "slow", milliseconds: 60_000 } as const;
    faultsOf.get("devstack1")?.set({ point: "agent.resize_instance.flip", action: slow, times: 1 });
    await act({ migrate: { host: "devstack2" } });
    await cloud.world.advance(30_000);
    expect(await setAside("devstack1")).toBe(true);
    await dies("devstack1");
  }

  /** Evacuates to a host that dies before it receives the message. */
  async function handedToTheDead(host = "devstack3"): Promise<void> {
    processes.get(host)?.kill();
    await cloud.compute("POST", `/servers/${id}/action`, { evacuate: { host, force: true } }, "2.60");
    await cloud.world.advance(5_000);
    expect(latest()).toMatchObject({ migrationType: "evacuation", status: "accepted", destCompute: host });
  }

  async function liveUntil(point: string): Promise<void> {
    const slow = { kind: "slow", milliseconds: 60_000 } as const;
    faultsOf.get("devstack1")?.set({ point, action: slow, times: 1 });
    await act({ "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await cloud.world.advance(30_000);
  }

  async function isBack(vmState: string, powerState: number, host = "devstack1"): Promise<void> {
    expect(instance()).toMatchObject({ host, vmState, taskState: null, powerState });
    expect(instance()?.systemMetadata).not.toHaveProperty("set_aside_by");
    expect(await setAside(host)).toBe(false);
    await expectIntact(host);
  }

  test.each([
    ["active", 1],
    ["stopped", 4],
  ])("%s: its destination was away, and its source comes back after it", async (vmState, powerState) => {
    if (vmState === "stopped") {
      await act({ "os-stop": null });
      await cloud.serverIs(id, (server) => server?.status === "SHUTOFF");
    }
    await diesInMigration();
    await handedToTheDead();
    await start("devstack3");
    expect(latest()?.status).toBe("failed");
    await start("devstack1");
    await cloud.world.advance(120_000);
    await isBack(vmState, powerState);
  });

  test("its source comes back while it waits for its destination", async () => {
    await diesInMigration();
    await handedToTheDead();
    await start("devstack1");
    expect(await setAside("devstack1")).toBe(true);
    await start("devstack3");
    await cloud.world.advance(120_000);
    await isBack("active", 1);
  });

  test.each([
    ["active", "cold migration", "devstack3", { migrate: { host: "devstack2" } }],
    ["stopped", "cold migration", "devstack3", { migrate: { host: "devstack2" } }],
    ["active", "cold migration", "devstack1", { migrate: { host: "devstack2" } }],
    ["active", "resize", "devstack3", { resize: { flavorRef: "2" } }],
  ])(
    "%s: the disks of a %s have arrived, its destination dies before it has the guest; to %s",
    async (vm, _, to, body) => {
      if (vm === "stopped") {
        await act({ "os-stop": null });
        await cloud.serverIs(id, (server) => server?.status === "SHUTOFF");
      }
      await service("devstack3", true);
      await act(body);
      await cloud.world.runUntil(() => latest()?.status === "post-migrating");
      await service("devstack3", false);
      const from = latest()?.destCompute ?? "";
      expect(from).toBe("devstack2");
      await dies(from);
      await handedToTheDead(to);
      await start(from);
      await start(to);
      await cloud.world.advance(120_000);
      expect(latest()).toMatchObject({ migrationType: "evacuation", status: "failed" });
      await isBack(vm, vm === "stopped" ? 4 : 1, from);
      expect(instance()?.flavor.flavorid).toBe("resize" in body ? "2" : "1");
    },
  );

  test.each(["devstack2", "devstack3"])(
    "a live migration has left the guest on devstack2, and its source dies before it has said so; to %s",
    async (to) => {
      await liveUntil("agent.post_live_migration.let_go");
      expect(await traces()).toContain("devstack2/domains");
      await dies("devstack1");
      await handedToTheDead(to);
      await start("devstack1");
      await start(to);
      await cloud.world.advance(180_000);
      expect(moves().find(({ migrationType }) => migrationType === "evacuation")?.status).toBe("failed");
      await isBack("active", 1, "devstack2");
    },
  );

  test.each(["devstack2", "devstack3"])(
    "a live migration's guest is on its source when that dies; to %s",
    async (to) => {
      faultsOf.get("devstack1")?.set({
        point: "driver.liveMigration",
        action: { kind: "slow", milliseconds: 60_000 },
        times: 1,
      });
      await act({ "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
      await cloud.world.advance(30_000);
      expect(latest()?.status).toBe("running");
      await dies("devstack1");
      await handedToTheDead(to);
      await start("devstack1");
      await start(to);
      await cloud.world.advance(180_000);
      await isBack("active", 1);
    },
  );

  test("a live migration's source is cut off, and comes to its end when nobody waits for it any more", async () => {
    faultsOf.get("devstack1")?.set({
      point: "driver.liveMigration",
      action: { kind: "slow", milliseconds: 40_000 },
      times: 1,
    });
    await act({ "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await cloud.world.advance(20_000);
    cloud.world.network.partition("agent-devstack1", "control-plane");
    await service("devstack1", true);
    await handedToTheDead();
    await start("devstack3");
    expect(latest()?.status).toBe("failed");
    await cloud.world.advance(30_000);
    cloud.world.network.heal("agent-devstack1", "control-plane");
    await cloud.world.advance(700_000);
    const host = instance()?.host ?? "";
    await isBack("active", 1, host);
  });

  test("no host takes it: the server is in error, with its guest", async () => {
    await diesInMigration();
    await service("devstack3", true);
    await act({ evacuate: { host: "devstack3" } });
    await cloud.world.runUntil(() => instance()?.vmState === "error");
    await start("devstack1");
    await cloud.world.advance(120_000);
    await isBack("error", 1);
  });

  test("the next one succeeds: the guest that was set aside goes, and a guest that comes to that host later is let be", async () => {
    await diesInMigration();
    await handedToTheDead();
    await start("devstack3");
    await service("devstack1", true);
    await evacuated("devstack2");
    await start("devstack1");
    await service("devstack1", false);
    await cloud.world.advance(120_000);
    await expectIntact("devstack2");
    await act({ "os-migrateLive": { host: "devstack1", block_migration: "auto" } });
    await cloud.serverIs(
      id,
      (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack1" && server.status === "ACTIVE",
    );
    await act({ "os-stop": null });
    await cloud.serverIs(id, (server) => server?.status === "SHUTOFF");
    const guest = await guestFiles("devstack1");
    processes.get("devstack1")?.kill();
    await start("devstack1");
    expect(await guestFiles("devstack1")).toEqual(guest);
    await cloud.world.advance(120_000);
    await isBack("stopped", 4);
  });
});

describe("6.7 an evacuation to the destination of the move that it has overtaken keeps what it has claimed there", () => {
  test.each([
    ["cold migration", { migrate: { host: "devstack2" } }],
    ["resize", { resize: { flavorRef: "2" } }],
  ])("%s: the destination hears of both at a time", async (_, body) => {
    await act(body);
    await cloud.world.runUntil(() => latest()?.destCompute !== null);
    const to = latest()?.destCompute ?? "";
    cloud.world.network.partition(`agent-${to}`, "control-plane");
    expect(latest()?.status).toBe("pre-migrating");
    await dies("devstack1");
    await act({ evacuate: { host: to } });
    await cloud.world.advance(2_000);
    expect(await held(id)).toEqual(["devstack1", to]);
    cloud.world.network.heal(`agent-${to}`, "control-plane");
    await cloud.serverIs(id, (server) => server?.["OS-EXT-SRV-ATTR:host"] === to && server.status === "ACTIVE");
    await start("devstack1");
    await cloud.world.advance(120_000);
    await expectIntact(to);
  });

  test.each(["claim", "cast"])("cold migration: the destination is held at %s", async (step) => {
    const slow = { kind: "slow", milliseconds: 30_000 } as const;
    faultsOf.get("devstack2")?.set({ point: `agent.prep_resize.${step}`, action: slow, times: 1 });
    await act({ migrate: { host: "devstack2" } });
    await cloud.world.advance(10_000);
    expect(latest()?.status).toBe("pre-migrating");
    await dies("devstack1");
    await evacuated("devstack2");
    await start("devstack1");
    await cloud.world.advance(120_000);
    await expectIntact("devstack2");
  });

  test.each(["devstack2", "devstack3"])(
    "live migration: the guest runs on devstack2, its source dies before it has said so; to %s",
    async (to) => {
      const slow = { kind: "slow", milliseconds: 60_000 } as const;
      faultsOf.get("devstack1")?.set({ point: "agent.post_live_migration.let_go", action: slow, times: 1 });
      await act({ "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
      await cloud.world.advance(30_000);
      expect(await traces()).toContain("devstack2/domains");
      expect(instance()?.host).toBe("devstack1");
      await dies("devstack1");
      await evacuated(to);
      await start("devstack1");
      await cloud.world.advance(120_000);
      expect((await traces()).filter((trace) => trace.endsWith("domains"))).toEqual([`${to}/domains`]);
      await hasEnded(to);
    },
  );
});

test("V12 a server that was evacuated and is resized before the dead host is back: that host keeps its own part", async () => {
  await dies("devstack1");
  await act({ evacuate: { host: "devstack2" } });
  await cloud.serverIs(id, (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack2" && server.status === "ACTIVE");
  await act({ resize: { flavorRef: "2" } });
  await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
  expect(await held(latest()?.uuid ?? "")).toEqual(["devstack2"]);
  expect((await held(id)).sort()).toEqual(["devstack1", "devstack3"]);
  await start("devstack1");
  await cloud.world.advance(60_000);
  expect(await held(latest()?.uuid ?? "")).toEqual(["devstack2"]);
  expect(await held(id)).toEqual(["devstack3"]);
  await act({ confirmResize: null });
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
  await cloud.world.advance(10_000);
  await expectIntact("devstack3");
});
