import { beforeEach, describe, expect, it } from "vitest";
import { VirtualMachine } from "../../../src/simulation/virtual-machine.js";
import { type VirtualRuntime, VirtualWorld } from "../../../src/simulation/virtual-world.js";

let world: VirtualWorld;
let machine: VirtualMachine;
let one: VirtualRuntime;
let other: VirtualRuntime;

beforeEach(() => {
  world = new VirtualWorld();
  const { disk } = world.machine;
  machine = new VirtualMachine("one", disk);
  one = world.spawn({ name: "one", machine });
  other = world.spawn({ name: "other", machine: new VirtualMachine("other", disk) });
});

describe("a machine that loses power", () => {
  it("loses its processes and their unsynced writes, and no others", async () => {
    const before = machine.identity;
    await world.runUntil(one.files.append("/log", "0123456789"));
    await world.runUntil(one.files.write("/written", "0123456789"));
    await world.runUntil(one.files.create("/created", "0123456789"));
    await world.runUntil(other.files.append("/other", "0123456789"));
    await world.runUntil(one.files.write("/unseen", "0123456789", { unseen: true }));
    await world.runUntil(one.files.write("/fleeting", "0123456789", { fleeting: true }));
    one.files.write("/begun", "0123456789", { unseen: true });
    machine.losePower();
    expect([one.alive, other.alive, machine.identity === before]).toEqual([false, true, false]);
    const read = (path: string) => world.runUntil(other.files.read(path));
    expect(await read("/log")).toBe("01234");
    expect(await read("/written")).toBe("0123456789");
    expect(await read("/created")).toBe("0123456789");
    expect(await read("/unseen")).toBe("0123456789");
    expect(await read("/fleeting")).toBe("01234");
    expect(await read("/begun")).toBe("01234");
    expect(await read("/other")).toBe("0123456789");
  });
});

describe("a disk with a problem", () => {
  it("accepts no writes while it is full, but can be read", async () => {
    await world.runUntil(one.files.write("/full/there", "text"));
    machine.disk.setTrouble("/full", { full: true, slow: 0 });
    const full = { code: "ENOSPC" };
    await expect(world.runUntil(one.files.write("/full/there", "more"))).rejects.toMatchObject(full);
    await expect(world.runUntil(one.files.create("/full/new", "more"))).rejects.toMatchObject(full);
    await expect(world.runUntil(one.files.append("/full/there", "more"))).rejects.toMatchObject(full);
    await expect(world.runUntil(one.files.makeFolder("/full/folder"))).rejects.toMatchObject(full);
    expect(await world.runUntil(one.files.read("/full/there"))).toBe("text");
    await world.runUntil(one.files.write("/fuller", "elsewhere"));
    machine.disk.setTrouble("/full", null);
    await world.runUntil(one.files.write("/full/there", "more"));
  });

  it("delays operations while it is slow", async () => {
    machine.disk.setTrouble("/slow", { full: false, slow: 700 });
    await world.runUntil(one.files.write("/slow/file", "text"));
    expect(one.clock.monotonic()).toBe(700);
  });
});

describe("a machine's clock", () => {
  it("jumps and drifts independently, while time passes equally for all", async () => {
    const ahead = () => one.clock.now() - other.clock.now();
    machine.jumpClock(30_000);
    expect(ahead()).toBe(30_000);
    world.driftClock(machine, 0.001);
    await world.advance(10_000);
    expect(ahead()).toBe(30_010);
    world.driftClock(machine, -0.001);
    await world.advance(20_000);
    expect(ahead()).toBe(29_990);
    expect(one.clock.monotonic()).toBe(other.clock.monotonic());
  });
});
