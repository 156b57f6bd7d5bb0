import { expect, test } from "vitest";
import { HostPorts } from "../../../../src/agent/host-ports.js";
import type { Conductor } from "../../../../src/conductor-client/port.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import type { NetworkInfo } from "../../../../src/virt/types.js";

const VM = "11111111-2222-4333-8444-555555555555";
const port = (id: string, active = false): NetworkInfo => ({ id, address: "fa:16:3e:00:00:01", network: "n", active });
const plugged = (tag: string, status = "completed") => ({ name: "network-vif-plugged", tag, status });

function world(options: { readonly timeout?: number; readonly fatal?: boolean } = {}) {
  const world = new VirtualWorld();
  const runtime = world.spawn();
  const notifications: unknown[] = [];
  const call = async (_method: string, params: unknown) => void notifications.push(params);
  const conductor = { call } as unknown as Conductor;
  const ports = new HostPorts({ ...runtime, host: "devstack1", conductor, timeout: 300, fatal: true, ...options });
  const began = { plug: async () => {} };
  return { world, ports, notifications: notifications, began };
}

test("8.6 a guest waits for each port that is not active, from before it is connected on", async () => {
  const { world: time, ports, notifications } = world();
  const network = [port("p1"), port("p2"), port("p3", true)];
  let over = false;
  const plug = async () => void ports.events.deliver(VM, plugged("p1"));
  const waiting = ports.plug(VM, network, plug).then(() => {
    over = true;
  });
  await time.advance(1_000);
  expect(over).toBe(false);
  expect(notifications).toEqual([{ host: "devstack1", instanceUuid: VM, ports: ["p1", "p2"] }]);
  expect(ports.events.deliver("another", plugged("p2"))).toBe(false);
  expect(ports.events.deliver(VM, plugged("p2"))).toBe(true);
  await time.runUntil(waiting);
  expect(ports.events.deliver(VM, plugged("p2"))).toBe(false);
  // The ports were already reported: no second notification is sent.
  await ports.connected(VM, network);
  expect(notifications).toHaveLength(1);
});

test("8.6 without an event it is not made, unless that is not fatal; an event that says failed always is", async () => {
  const outcome = async (options: { readonly fatal?: boolean; readonly timeout?: number }, failed = false) => {
    const { world: time, ports, began } = world(options);
    const waiting = ports.plug(VM, [port("p1")], began.plug).then(
      () => "made",
      (error: Error) => error.name,
    );
    await time.advance(1_000);
    if (failed) {
      ports.events.deliver(VM, plugged("p1", "failed"));
    }
    await time.advance(300_000);
    return waiting;
  };
  expect(await outcome({})).toBe("VirtualInterfaceCreateException");
  expect(await outcome({ fatal: false })).toBe("made");
  expect(await outcome({ fatal: false }, true)).toBe("VirtualInterfaceCreateException");
  expect(await outcome({ timeout: 0 })).toBe("made");
});

test("8.6 while the agent starts, its ports are reported, and no event is awaited", async () => {
  const { world: time, ports, notifications, began } = world();
  ports.events.isReceiving = false;
  const start = time.now;
  await time.runUntil(ports.plug(VM, [port("p1")], began.plug));
  expect(time.now - start).toBeLessThan(1_000);
  expect(notifications).toEqual([{ host: "devstack1", instanceUuid: VM, ports: ["p1"] }]);
});

test("a guest without ports waits for nothing, and the network service is not called", async () => {
  const { world: time, ports, notifications, began } = world();
  await time.runUntil(ports.plug(VM, [], began.plug));
  expect(notifications).toEqual([]);
});
