import { describe, expect, it } from "vitest";
import { createVirtualRuntime, GoalNotReached, VirtualWorld } from "../../../src/simulation/virtual-world.js";

const START = Date.UTC(2026, 0, 1);

describe("virtual time", () => {
  it("passes only when advanced, and runs timers in the order of time, then of planning", async () => {
    const { timers, clock, advance } = createVirtualRuntime({ start: START });
    const fired: [string, number][] = [];
    timers.after(20, () => fired.push(["late", clock.now()]));
    timers.after(10, () => fired.push(["first", clock.now()]));
    timers.after(10, () => fired.push(["second", clock.now()]));
    await advance(15);
    expect(fired).toEqual([
      ["first", START + 10],
      ["second", START + 10],
    ]);
    expect([clock.now(), clock.monotonic()]).toEqual([START + 15, 15]);
    await advance(5);
    expect(fired.at(-1)).toEqual(["late", START + 20]);
  });

  it("lets a chain of sleeps pass in one advance", async () => {
    const { timers, clock, advance } = createVirtualRuntime();
    const ticks: number[] = [];
    const loop = (async () => {
      for (let round = 0; round < 3; round += 1) {
        await timers.sleep(1000);
        ticks.push(clock.monotonic());
      }
    })();
    await advance(3000);
    await loop;
    expect(ticks).toEqual([1000, 2000, 3000]);
  });

  it("drops a cancelled timer and rejects an aborted sleep immediately with the signal's reason", async () => {
    const { timers, advance, world } = createVirtualRuntime();
    let fired = false;
    timers.after(10, () => {
      fired = true;
    })();
    const controller = new AbortController();
    const sleeping = timers.sleep(10, controller.signal);
    controller.abort(new Error("stop"));
    await expect(sleeping).rejects.toThrow("stop");
    expect(world.planned).toBe(0);
    await advance(20);
    expect(fired).toBe(false);
    await expect(timers.sleep(1, controller.signal)).rejects.toThrow("stop");
  });

  it("does not pass while a module is loading, however long that takes, and continues after a failed load", async () => {
    const { modules, timers, clock, advance } = createVirtualRuntime();
    const loaded: number[] = [];
    const waitTicks = async (count: number) => {
      for (let turn = 0; turn < count; turn += 1) {
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    timers.after(10, () => {
      void modules.load(() => waitTicks(50)).then(() => loaded.push(clock.monotonic()));
      void modules.load(() => Promise.reject(new Error("no such module"))).catch(() => loaded.push(-1));
    });
    timers.after(11, () => loaded.push(clock.monotonic()));
    await advance(20);
    expect(loaded).toEqual([-1, 10, 11]);
  });

  it("runs until a promise settles, returning or throwing as it does", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    expect(await runUntil(timers.sleep(500).then(() => "done"))).toBe("done");
    expect(clock.monotonic()).toBe(500);
    const failing = timers.sleep(1).then(() => {
      throw new Error("as it does");
    });
    await expect(runUntil(failing)).rejects.toThrow("as it does");
  });

  it("reports when a goal is not reached within the limit", async () => {
    const { timers, runUntil } = createVirtualRuntime();
    const beat = () => timers.after(1000, beat);
    beat();
    await expect(runUntil(() => false, { limit: 10_000 })).rejects.toThrow(GoalNotReached);
  });

  it("cannot be advanced by two callers at the same time", async () => {
    const { advance } = createVirtualRuntime();
    const first = advance(10);
    await expect(advance(10)).rejects.toThrow("already being advanced");
    await first;
  });

  it("gives the same events for the same seed, and others for another one", async () => {
    const story = async (seed: number) => {
      const world = new VirtualWorld({ seed });
      const lines: string[] = [];
      for (const name of ["a", "b", "c"]) {
        const { timers, random, clock } = world.spawn({ name });
        const loop = async (): Promise<void> => {
          await timers.sleep(random.integer(1, 1000));
          lines.push(`${clock.monotonic()} ${name} ${random.uuid()}`);
          return loop();
        };
        void loop();
      }
      await world.advance(20_000);
      return lines.join("\n");
    };
    expect(await story(1)).toBe(await story(1));
    expect(await story(1)).not.toBe(await story(2));
  });

  it("gives each process its own random numbers, independent of others", () => {
    const [quiet, busy] = [new VirtualWorld(), new VirtualWorld()];
    busy.spawn({ name: "other" }).random.uuid();
    expect(busy.spawn({ name: "a" }).random.uuid()).toBe(quiet.spawn({ name: "a" }).random.uuid());
    expect(quiet.spawn({ name: "b" }).random.uuid()).not.toBe(quiet.spawn({ name: "c" }).random.uuid());
  });

  it("draws valid UUIDs, integers of the full range and hex of the requested length", () => {
    const { random } = createVirtualRuntime();
    const uuids = Array.from({ length: 200 }, () => random.uuid());
    for (const uuid of uuids) {
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    }
    expect(new Set(uuids).size).toBe(200);
    const drawn = new Set(Array.from({ length: 300 }, () => random.integer(-1, 2)));
    expect([...drawn].sort()).toEqual([-1, 0, 1, 2].sort());
    expect(random.hex(5)).toMatch(/^[0-9a-f]{10}$/);
  });
});

describe("a killed process", () => {
  it("never resumes a sleep, fires a timer or does a file operation again", async () => {
    const world = new VirtualWorld();
    const victim = world.spawn({ name: "victim" });
    const after: string[] = [];
    void victim.timers.sleep(10).then(() => after.push("slept"));
    victim.timers.after(10, () => after.push("fired"));
    victim.kill();
    void victim.files.write("/late", "x").then(() => after.push("wrote"));
    await world.advance(100);
    expect(after).toEqual([]);
    expect(await world.spawn().files.stat("/late")).toBeUndefined();
    expect(victim.alive).toBe(false);
  });

  it("appears dead to others, and restarts with another pid and other random numbers", () => {
    const world = new VirtualWorld();
    const observer = world.spawn({ name: "observer" });
    const first = world.spawn({ name: "agent" });
    expect(observer.processes.machine).toBe(first.processes.machine);
    expect(observer.processes.isAlive(first.processes.pid)).toBe(true);
    first.kill();
    expect(observer.processes.isAlive(first.processes.pid)).toBe(false);
    const second = world.spawn({ name: "agent" });
    expect(second.processes.pid).not.toBe(first.processes.pid);
    expect(second.random.uuid()).not.toBe(first.random.uuid());
    world.machine.setLiveness(first.processes.pid, true);
    expect(observer.processes.isAlive(first.processes.pid)).toBe(true);
  });
});
