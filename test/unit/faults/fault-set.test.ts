import { describe, expect, test } from "vitest";
import { FaultSet } from "../../../src/faults/fault-set.js";
import { FaultInjected } from "../../../src/faults/faults.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

function setUp() {
  const runtime = createVirtualRuntime();
  return { runtime, faults: new FaultSet(runtime) };
}

describe("a set of faults", () => {
  test("a point without a fault does nothing", async () => {
    const { faults } = setUp();
    await expect(faults.hit("driver.spawn")).resolves.toBeUndefined();
    expect(faults.decide("driver.spawn")).toBeUndefined();
  });

  test("once is used up, a number is counted, always remains", async () => {
    const { faults } = setUp();
    faults.set({ point: "a", action: { kind: "fail" }, times: 1 });
    faults.set({ point: "b", action: { kind: "fail" }, times: 2 });
    faults.set({ point: "c", action: { kind: "fail" }, times: null });
    const outcome = async (point: string) => {
      const outcomes: string[] = [];
      for (let turn = 0; turn < 3; turn += 1) {
        outcomes.push(
          await faults.hit(point).then(
            () => "ok",
            (error: unknown) => (error instanceof FaultInjected ? "fault" : "other"),
          ),
        );
      }
      return outcomes;
    };
    expect(await outcome("a")).toEqual(["fault", "ok", "ok"]);
    expect(await outcome("b")).toEqual(["fault", "fault", "ok"]);
    expect(await outcome("c")).toEqual(["fault", "fault", "fault"]);
    expect(faults.faults.map(({ point }) => point)).toEqual(["c"]);
    expect(faults.known).toHaveLength(3);
  });

  test("the message names the point; the error has the configured name", async () => {
    const { faults } = setUp();
    faults.set({ point: "driver.spawn", action: { kind: "fail", error: "BuildAbortException" }, times: null });
    const error = await faults.hit("driver.spawn").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "BuildAbortException", point: "driver.spawn" });
    expect(String(error)).toContain("driver.spawn failed because of an injected fault");
  });

  test("setting a point again replaces its fault", () => {
    const { faults } = setUp();
    faults.set({ point: "a", action: { kind: "fail" }, times: 1 });
    faults.decide("a");
    faults.set({ point: "a", action: { kind: "fail" }, times: 1 });
    expect(faults.decide("a")).toEqual({ kind: "fail" });
    expect(faults.known).toHaveLength(1);
  });

  test("slow waits, then continues; an aborted signal ends the wait", async () => {
    const { runtime, faults } = setUp();
    faults.set({ point: "a", action: { kind: "slow", milliseconds: 2_000 }, times: null });
    let over = false;
    const hit = faults.hit("a").then(() => {
      over = true;
    });
    await runtime.advance(1_999);
    expect(over).toBe(false);
    await runtime.advance(1);
    await hit;
    const controller = new AbortController();
    const aborted = faults.hit("a", controller.signal).catch((error: unknown) => error);
    controller.abort(new Error("too late"));
    expect(await aborted).toMatchObject({ message: "too late" });
  });

  test("a timed hang continues afterwards; an unlimited one ends when it is cleared or the signal is aborted", async () => {
    const { runtime, faults } = setUp();
    const outcomes: string[] = [];
    const hang = (milliseconds: number | null, signal?: AbortSignal) => {
      faults.set({ point: "a", action: { kind: "hang", milliseconds }, times: 1 });
      return faults.hit("a", signal).then(
        () => void outcomes.push("on"),
        (error: unknown) => void outcomes.push(String(error)),
      );
    };
    const first = hang(30_000);
    await runtime.advance(30_000);
    await first;
    const second = hang(null);
    await runtime.advance(10_000_000);
    expect(outcomes).toEqual(["on"]);
    faults.clear("a");
    await second;
    const controller = new AbortController();
    const third = hang(null, controller.signal);
    controller.abort(new Error("too late"));
    await third;
    expect(outcomes).toEqual(["on", "on", "Error: too late"]);
    expect(runtime.world.planned).toBe(0);
  });

  test("a partition ends by itself, and peeking does not use it up", async () => {
    const { runtime, faults } = setUp();
    faults.set({ point: "conductor", action: { kind: "partition", milliseconds: 30_000 }, times: null });
    faults.set({ point: "a", action: { kind: "fail" }, times: 1 });
    expect(faults.peek("conductor")).toEqual({ kind: "partition", milliseconds: 30_000 });
    expect(faults.peek("a")).toEqual({ kind: "fail" });
    expect(faults.decide("a")).toEqual({ kind: "fail" });
    await runtime.advance(30_000);
    expect(faults.peek("conductor")).toBeUndefined();
    expect(faults.faults).toEqual([]);
  });

  test("listeners are notified of changes until they are removed", () => {
    const { faults } = setUp();
    let changeCount = 0;
    const stop = faults.onChange(() => {
      changeCount += 1;
    });
    faults.set({ point: "a", action: { kind: "fail" }, times: 1 });
    faults.decide("a");
    faults.clear();
    expect(changeCount).toBe(3);
    stop();
    faults.clear();
    expect(changeCount).toBe(3);
  });
});
