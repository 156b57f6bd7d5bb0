import { expect, test } from "vitest";
import { driver as definition } from "../../../../drivers/fake-libvirt/index.js";
import { VirtualMachine } from "../../../../src/simulation/virtual-machine.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { createDriverHost } from "../../../../src/virt/create-driver-host.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import { contextOf, instanceOf, NO_DEVICES } from "../../virt/fixtures.js";
import { SPAWN } from "./fixtures.js";

const runs = instanceOf();
const stopped = instanceOf({ id: 43, uuid: "44444444-4444-4444-8444-444444444444" });

test.each([undefined, 7])(
  "after a power loss a machine has its guests, and none is running (epoch %s)",
  async (epoch) => {
    const world = new VirtualWorld();
    const machine = new VirtualMachine("one", world.machine.disk);
    const connect = async (later: number): Promise<DriverHost> => {
      const connectionUri = "fake-libvirt:///lab/hypervisors/devstack1";
      const context = contextOf(world.spawn({ name: "agent", machine }), { config: { connectionUri } });
      const host = await createDriverHost(definition, context);
      await host.initHost(epoch === undefined ? undefined : { epoch: epoch + later });
      return host;
    };
    const before = await world.runUntil(connect(0));
    await world.runUntil(before.spawn(runs, SPAWN));
    await world.runUntil(before.spawn(stopped, SPAWN));
    await world.runUntil(before.powerOff(stopped));
    machine.losePower();
    const after = await world.runUntil(connect(1));
    const states = async () => [await after.powerState(runs), await after.powerState(stopped)];
    expect(await world.runUntil(states())).toEqual([4, 4]);
    await world.runUntil(after.powerOn(runs));
    expect(await world.runUntil(states())).toEqual([1, 4]);
    const to = { ...NO_DEVICES, destIp: "127.0.0.2", flavor: runs.flavor };
    await world.runUntil(after.migrateDiskAndPowerOff(runs, to));
    machine.losePower();
    const last = await world.runUntil(connect(2));
    expect(await world.runUntil(last.powerState(runs)), "a guest that has left does not run").toBe(4);
  },
);
