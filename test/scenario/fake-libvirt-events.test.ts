import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { driver as definition } from "../../drivers/fake-libvirt/index.js";
import { Virsh, VirshError } from "../../drivers/fake-libvirt/virsh.js";
import { createVirtualRuntime, type VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../src/virt/driver-host.js";
import type { Files, LifecycleEvent } from "../../src/virt/index.js";
import { DESTROY, SPAWN } from "../unit/drivers/fake-libvirt/fixtures.js";
import { contextOf, instanceOf, UUID } from "../unit/virt/fixtures.js";

const vm1 = instanceOf();
const NAME = "instance-0000002a";
const connectionUri = "fake-libvirt:///hypervisors/devstack1";

let runtime: VirtualRuntime;
let host: DriverHost;
let virsh: Virsh;
let events: string[];
let hosts: DriverHost[];

async function connect(config: Readonly<Record<string, unknown>> = {}) {
  const connected = await createDriverHost(definition, contextOf(runtime, { config: { connectionUri, ...config } }));
  await connected.initHost();
  hosts.push(connected);
  return connected;
}

/** Records transitions with the seconds since the test began. */
function listen(to: DriverHost) {
  const start = runtime.clock.now();
  to.setLifecycleListener((event: LifecycleEvent) => {
    expect(event).toMatchObject({ uuid: UUID });
    events.push(`${event.transition} ${(runtime.clock.now() - start) / 1000}`);
  });
}

beforeEach(async () => {
  runtime = createVirtualRuntime();
  hosts = [];
  events = [];
  host = await connect();
  virsh = new Virsh(connectionUri, runtime);
});
afterEach(async () => {
  for (const each of hosts) {
    await each.cleanupHost();
  }
  expect(runtime.logs.filter(({ level }) => level !== "debug")).toEqual([]);
});

describe("8.5 events of what a person does from outside", () => {
  beforeEach(async () => {
    await host.spawn(vm1, SPAWN);
    await runtime.advance(1000);
    listen(host);
  });

  test("a start is told at once, with uuid, name and time", async () => {
    await host.powerOff(vm1);
    const receivedEvents: LifecycleEvent[] = [];
    host.setLifecycleListener((event) => void receivedEvents.push(event));
    await virsh.start(NAME);
    await runtime.advance(100);
    expect(receivedEvents).toEqual([{ timestamp: expect.any(Number), uuid: UUID, name: NAME, transition: "started" }]);
    expect(await host.powerState(vm1)).toBe(1);
  });

  test("a stop is held back for 15 s", async () => {
    await virsh.destroy(NAME);
    await runtime.advance(14_000);
    expect(events).toEqual([]);
    await runtime.advance(2_000);
    expect(events).toEqual(["stopped 15"]);
  });

  test("the next event of the guest cancels it: a reboot does not look like a stop", async () => {
    await virsh.shutdown(UUID);
    await runtime.advance(5_000);
    await virsh.start(UUID);
    await runtime.advance(60_000);
    expect(events).toEqual(["started 5"]);
  });

  test("so does what the agent does to the guest itself", async () => {
    await virsh.destroy(NAME);
    await runtime.advance(5_000);
    await host.powerOn(vm1);
    await runtime.advance(60_000);
    expect(events).toEqual([]);
  });

  test("pause and resume", async () => {
    await virsh.suspend(NAME);
    await runtime.advance(1_000);
    await virsh.resume(NAME);
    await runtime.advance(1_000);
    expect(events).toEqual(["paused 0", "resumed 1"]);
  });

  test("a guest whose files are wiped stopped", async () => {
    await runtime.files.remove("/hypervisors/devstack1/domains");
    await host.getAvailableResource("devstack1");
    await runtime.advance(60_000);
    expect(events).toEqual(["stopped 15"]);
  });

  test("a change that came unseen, as on a network file system, is told of in the next pass", async () => {
    const files: Files = new Proxy(runtime.files, {
      get: (target, name: keyof Files) => (name === "watch" ? () => () => {} : target[name].bind(target)),
    });
    const blind = await createDriverHost(definition, contextOf(runtime, { config: { connectionUri }, files }));
    await blind.initHost();
    hosts.push(blind);
    host.setLifecycleListener(null);
    listen(blind);
    await virsh.suspend(NAME);
    await runtime.advance(60_000);
    expect(events).toEqual([]);
    await blind.getAvailableResource("devstack1");
    await runtime.advance(1_000);
    expect(events).toEqual(["paused 60"]);
  });

  test("another agent on the hypervisor is somebody else, too", async () => {
    const other = await connect();
    await other.pause(vm1);
    await runtime.advance(1_000);
    expect(events).toEqual(["paused 0"]);
  });

  test("what the driver does itself is no news", async () => {
    await host.pause(vm1);
    await host.unpause(vm1);
    await host.suspend(vm1);
    await host.resume(vm1);
    await host.powerOff(vm1);
    await host.powerOn(vm1);
    await host.reboot(vm1, "HARD");
    await runtime.advance(60_000);
    await host.destroy(vm1, DESTROY);
    await host.spawn(vm1, SPAWN);
    await runtime.advance(60_000);
    expect(events).toEqual([]);
  });

  test("what happened while no agent ran is no news", async () => {
    await host.cleanupHost();
    await virsh.destroy(NAME);
    const next = await connect();
    listen(next);
    await runtime.advance(60_000);
    expect(events).toEqual([]);
    expect(await next.powerState(vm1)).toBe(4);
  });

  test("after cleanupHost nothing is told, and no timer is left", async () => {
    await virsh.destroy(NAME);
    await runtime.advance(1_000);
    await host.cleanupHost();
    await runtime.advance(60_000);
    expect(events).toEqual([]);
    expect(runtime.world.planned).toBe(0);
  });

  test("stop_event_delay = 0 tells at once", async () => {
    const eager = await connect({ stopEventDelay: 0 });
    host.setLifecycleListener(null);
    listen(eager);
    await virsh.destroy(NAME);
    await runtime.advance(100);
    expect(events).toEqual(["stopped 0"]);
  });
});

describe("virsh", () => {
  test("list, dumpxml, and states as virsh names them", async () => {
    await host.spawn(vm1, SPAWN);
    expect(await virsh.list()).toEqual([{ id: 42, name: NAME, uuid: UUID, state: "running" }]);
    expect(await virsh.dumpxml("42")).toContain(`<uuid>${UUID}</uuid>`);
    await virsh.destroy("42");
    expect(await virsh.list()).toEqual([]);
    expect(await virsh.list({ all: true })).toEqual([{ id: null, name: NAME, uuid: UUID, state: "shut off" }]);
  });

  test.each([
    ["start", /Domain is already active \(running\)/],
    ["resume", /domain is not paused \(running\)/],
  ] as const)("%s of a running domain is refused", async (command, message) => {
    await host.spawn(vm1, SPAWN);
    await expect(virsh[command](NAME)).rejects.toThrow(message);
  });

  test.each(["destroy", "shutdown", "suspend"] as const)("%s of a domain that is off is refused", async (command) => {
    await host.spawn(vm1, { ...SPAWN, powerOn: false });
    await expect(virsh[command](NAME)).rejects.toThrow(/domain is not running \(shut off\)/);
  });

  test("an unknown domain", async () => {
    await expect(virsh.start("vm9")).rejects.toThrow(VirshError);
    await expect(virsh.dumpxml("vm9")).rejects.toThrow("failed to get domain 'vm9'");
  });
});

describe("delays of operations", () => {
  const took = async (work: Promise<unknown>) => {
    const start = runtime.clock.now();
    await runtime.runUntil(work);
    return runtime.clock.now() - start;
  };

  test("each operation takes its own", async () => {
    const slow = await connect({
      delaySpawn: 7,
      delayDestroy: 0.5,
      delayPowerOn: 2,
      delayPowerOff: 3,
      delayReboot: 4,
      delayPause: 5,
      delayUnpause: 6,
      delaySuspend: 8,
      delayResume: 9,
    });
    expect(await took(slow.spawn(vm1, SPAWN))).toBe(7000);
    expect(await took(slow.powerOff(vm1))).toBe(3000);
    expect(await took(slow.powerOn(vm1))).toBe(2000);
    expect(await took(slow.reboot(vm1, "SOFT"))).toBe(4000);
    expect(await took(slow.reboot(vm1, "HARD"))).toBe(4000);
    expect(await took(slow.pause(vm1))).toBe(5000);
    expect(await took(slow.unpause(vm1))).toBe(6000);
    expect(await took(slow.suspend(vm1))).toBe(8000);
    expect(await took(slow.resume(vm1))).toBe(9000);
    expect(await took(slow.destroy(vm1, DESTROY))).toBe(500);
    expect(await took(slow.destroy(vm1, DESTROY))).toBe(0);
  });

  test("a spawn that is aborted while it waits leaves nothing", async () => {
    const slow = await connect({ delaySpawn: 60 });
    const controller = new AbortController();
    const spawning = slow.spawn(vm1, { ...SPAWN, signal: controller.signal }).catch((error: unknown) => error);
    await runtime.advance(1_000);
    controller.abort(new Error("deleted"));
    expect(await runtime.runUntil(spawning)).toMatchObject({ message: "deleted" });
    expect(await slow.listInstanceUuids()).toEqual([]);
    expect(await runtime.files.list("/hypervisors/devstack1/instances")).toEqual([]);
  });

  test("a stop that is aborted while it waits leaves the guest running", async () => {
    const slow = await connect({ delayPowerOff: 60 });
    await host.spawn(vm1, SPAWN);
    const controller = new AbortController();
    const stopping = slow.powerOff(vm1, { signal: controller.signal }).catch(() => "aborted");
    await runtime.advance(1_000);
    controller.abort();
    expect(await runtime.runUntil(stopping)).toBe("aborted");
    expect(await slow.powerState(vm1)).toBe(1);
  });
});
