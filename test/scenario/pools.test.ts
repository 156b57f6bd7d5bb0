import { afterEach, describe, expect, test } from "vitest";
import { driver as fakeLibvirt } from "../../drivers/fake-libvirt/index.js";
import { connectToConductor } from "../../src/conductor-client/connect-to-conductor.js";
import type { ControlPlane } from "../../src/control-plane/control-plane.js";
import { type VirtualRuntime, VirtualWorld } from "../../src/simulation/virtual-world.js";
import type { DriverContext, DriverDefinition, VirtDriver } from "../../src/virt/index.js";
import { DIRECTORY, openControlPlane } from "../fixtures/world/control-plane.js";
import { Pool, type PoolOptions } from "../fixtures/world/pool.js";

const NAMES = ["n1", "n2", "n3"];
const open: ControlPlane[] = [];
const worlds: VirtualWorld[] = [];

afterEach(async () => {
  for (const [index, controlPlane] of open.splice(0).entries()) {
    await worlds[index]?.runUntil(controlPlane.stop());
  }
  worlds.splice(0);
});

interface Harness {
  readonly world: VirtualWorld;
  readonly controlPlane: ControlPlane;
  readonly runtime: VirtualRuntime;
  readonly pool: Pool;
}

async function start(
  options: Partial<PoolOptions> & { readonly interleave?: number; readonly seed?: number } = {},
): Promise<Harness> {
  const { interleave, seed = 5, ...rest } = options;
  const world = new VirtualWorld({ seed, ...(interleave === undefined ? {} : { interleave }) });
  const main = world.spawn({ name: "control-plane" });
  const controlPlane = await world.runUntil(openControlPlane({ runtime: main }));
  open.push(controlPlane);
  worlds.push(world);
  const runtime = world.spawn({ name: "pool" });
  const joinToken = (await world.runUntil(runtime.files.read(DIRECTORY.joinTokenFile))).trim();
  const connection = connectToConductor({ url: controlPlane.url, joinToken, runtime });
  const pool = new Pool({ runtime, connection, ...rest });
  return { world, controlPlane, runtime, pool };
}

/** Returns fake-libvirt, changed on one host by `change`. */
function except(
  host: string,
  change: (driver: VirtDriver, context: DriverContext) => Partial<VirtDriver>,
): (of: string) => DriverDefinition {
  const broken: DriverDefinition = {
    ...fakeLibvirt,
    create: async (context) => {
      const driver = await fakeLibvirt.create(context);
      const changed: object = change(driver, context);
      return new Proxy(driver, {
        get: (target, name) => {
          const member: unknown = Reflect.get(name in changed ? changed : target, name);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    },
  };
  return (of) => (of === host ? broken : fakeLibvirt);
}

const serving = (...hosts: string[]) => Object.fromEntries(hosts.map((host) => [host, "serving"]));

describe("a host of a process fails by itself", () => {
  test("one that refuses to start is reported with its reason and exit code, and the others serve", async () => {
    const uri = "fake-libvirt:///hypervisors/shared";
    const changes = (host: string) => (host === "n1" ? {} : { sections: { fake_libvirt: { connection_uri: uri } } });
    const { world, pool } = await start({ changes });
    await world.runUntil(pool.hosts.add(["n1", "n2"]));
    await world.runUntil(pool.hosts.add(["n3"]));
    expect(pool.states).toEqual({ ...serving("n1", "n2"), n3: "failed" });
    expect(pool.statusOf("n3")).toMatchObject({ exitCode: 3, detail: expect.stringContaining("n2") });
    await world.advance(60_000);
    expect(pool.states).toEqual({ ...serving("n1", "n2"), n3: "failed" });
  });

  test("one whose configuration is wrong does, too", async () => {
    const changes = (host: string) => ({ defaults: host === "n2" ? { report_interval: "often" } : {} });
    const { world, pool } = await start({ changes });
    await world.runUntil(pool.hosts.add(NAMES));
    expect(pool.states).toEqual({ ...serving("n1", "n3"), n2: "failed" });
    expect(pool.statusOf("n2")).toMatchObject({ exitCode: 2, detail: expect.stringContaining("report_interval") });
  });

  test("one whose driver hangs keeps nobody else from serving", async () => {
    const driverOf = except("n2", () => ({ initHost: () => new Promise(() => {}) }));
    const { world, pool } = await start({ driverOf });
    const added = pool.hosts.add(NAMES);
    await world.runUntil(() => pool.states.n1 === "serving" && pool.states.n3 === "serving");
    expect(pool.states.n2).toBe("starting");
    await world.runUntil(pool.hosts.control("n2", "kill"));
    await world.runUntil(added);
    expect(pool.states).toEqual({ ...serving("n1", "n3"), n2: "killed" });
  });

  test("one whose driver throws from a callback is disabled, drained and failed; its neighbours live on", async () => {
    let throws: () => void = () => {};
    const driverOf = except("n2", (driver, { timers }) => ({
      initHost: async (options) => {
        timers.after(60_000, () => throws());
        return driver.initHost(options);
      },
    }));
    const { world, pool, controlPlane, runtime } = await start({ driverOf });
    throws = () => {
      const unhandledError = pool.containment.recordUnhandled("exception", new Error("boom"));
      expect(unhandledError?.call.context?.host).toBe("n2");
      if (unhandledError !== null) {
        pool.unhandledErrors.take(unhandledError);
      }
    };
    await world.runUntil(pool.hosts.add(NAMES));
    await world.advance(300_000);
    expect(pool.states).toEqual({ ...serving("n1", "n3"), n2: "failed" });
    expect(pool.statusOf("n2")).toMatchObject({ exitCode: 1, detail: expect.stringContaining("boom") });
    expect(pool.ownerless).toEqual([]);
    expect(runtime.alive).toBe(true);
    const disabled = controlPlane.store.services.list({}).filter((service) => service.disabled);
    expect(disabled.map(({ host }) => host)).toEqual(["n2"]);
  });

  test("one whose driver lies is not believed, and its neighbours serve with what theirs say", async () => {
    const driverOf = except("n2", (driver) => ({
      getAvailableResource: async (node) => ({ ...(await driver.getAvailableResource(node)), vcpus: Number.NaN }),
      listInstanceUuids: async () => 7 as unknown as readonly string[],
    }));
    const { world, pool, controlPlane, runtime } = await start({ driverOf });
    await world.runUntil(pool.hosts.add(NAMES));
    await world.advance(300_000);
    expect(pool.states).toMatchObject(serving("n1", "n3"));
    expect(runtime.alive).toBe(true);
    const { computeNodes, services } = controlPlane.store;
    expect(NAMES.map((host) => computeNodes.byHost(host).map(({ vcpus }) => vcpus))).toEqual([[8], [], [8]]);
    const heartbeats = services.byHosts(["n1", "n3"], "nova-compute").map(({ lastSeenUp }) => lastSeenUp ?? 0);
    expect(runtime.clock.now() - Math.min(...heartbeats)).toBeLessThan(20_000);
  });
});

describe("a killed host of a process", () => {
  test("leaves its lease and its service as they are, and is started again at once", async () => {
    const { world, pool, controlPlane } = await start();
    await world.runUntil(pool.hosts.add(NAMES));
    await world.runUntil(pool.hosts.control("n2", "kill"));
    expect(pool.states).toEqual({ ...serving("n1", "n3"), n2: "killed" });
    expect(controlPlane.store.leases.get("n2")).not.toBeNull();
    const before = world.now;
    expect(await world.runUntil(pool.hosts.control("n2", "start"))).toMatchObject({ state: "serving" });
    expect(world.now - before).toBeLessThan(1_000);
    await world.runUntil(pool.hosts.control("n2", "stop"));
    expect(controlPlane.store.leases.get("n2")).toBeNull();
    expect(await world.runUntil(pool.hosts.control("n2", "start"))).toMatchObject({ state: "serving" });
    expect(await world.runUntil(pool.hosts.control("n2", "start"))).toMatchObject({ state: "serving" });
  });

  test("killed at any moment of its start, it starts again, and nothing of the dead goes on", async () => {
    let serves = false;
    for (let at = 0; !serves; at += 3) {
      const { world, pool, runtime } = await start({ interleave: 4, seed: at });
      void pool.hosts.add(["n1", "n2"]);
      await world.runUntil(() => pool.states.n1 !== undefined);
      await world.advance(at);
      serves = pool.states.n1 === "serving";
      const killed = pool.hosts.control("n1", "kill");
      await world.runUntil(killed);
      const left = await tree(world, runtime, "/state/n1");
      await world.advance(1_000);
      expect(await tree(world, runtime, "/state/n1")).toEqual(left);
      await world.runUntil(pool.hosts.control("n1", "start"));
      expect({ at, ...pool.states, why: pool.statusOf("n1").detail }).toEqual({ at, ...serving("n1", "n2"), why: "" });
    }
  });

  test("killed while it is started, stopped, or killed already", async () => {
    const { world, pool } = await start({ interleave: 4 });
    await world.runUntil(pool.hosts.add(NAMES));
    const control = (action: "start" | "stop" | "kill") => pool.hosts.control("n2", action);
    await world.runUntil(Promise.all([control("kill"), control("kill"), control("start")]));
    expect(pool.states.n2).toBe("serving");
    const stopped = control("stop");
    await world.advance(2);
    await world.runUntil(Promise.all([control("kill"), stopped, control("start")]));
    expect(pool.states.n2).toBe("serving");
    const [, started] = [control("stop"), control("start")];
    await world.runUntil(started);
    expect(pool.states.n2).toBe("serving");
    await world.runUntil(pool.hosts.stop());
    await world.runUntil(pool.hosts.idle);
    expect(pool.states).toEqual({ n1: "stopped", n2: "stopped", n3: "stopped" });
  });
});

/** Returns path → modification time and text of all files below a folder. */
async function tree(world: VirtualWorld, { files }: VirtualRuntime, folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of await world.runUntil(files.list(folder))) {
    const path = `${folder}/${name}`;
    const stat = await world.runUntil(files.stat(path));
    if (stat?.kind === "folder") {
      Object.assign(found, await tree(world, { files } as VirtualRuntime, path));
    } else {
      found[path] = `${stat?.modified} ${await world.runUntil(files.readIfPresent(path))}`;
    }
  }
  return found;
}
