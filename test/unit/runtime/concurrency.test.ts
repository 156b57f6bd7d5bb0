import { AsyncLocalStorage } from "node:async_hooks";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FairLock, KeyedLock } from "../../../src/runtime/locks.js";
import { backOff, retry } from "../../../src/runtime/retry.js";
import { mapConcurrently, TaskQueue } from "../../../src/runtime/task-queue.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";
import { property } from "../../fixtures/property.js";

describe("FairLock", () => {
  property([fc.array(fc.nat(20), { minLength: 1, maxLength: 12 })])(
    "admits one task at a time, in the order of arrival, even if tasks fail",
    async (durations) => {
      const { timers, runUntil } = createVirtualRuntime();
      const lock = new FairLock();
      const entered: number[] = [];
      let inside = 0;
      const tasks = durations.map((duration, index) =>
        lock.run(async () => {
          inside += 1;
          expect(inside).toBe(1);
          entered.push(index);
          await timers.sleep(duration);
          inside -= 1;
          if (duration % 3 === 0) {
            throw new Error(`task ${index}`);
          }
        }),
      );
      const results = await runUntil(Promise.allSettled(tasks));
      expect(entered).toEqual(durations.map((_duration, index) => index));
      expect(results.map(({ status }) => status)).toEqual(
        durations.map((duration) => (duration % 3 === 0 ? "rejected" : "fulfilled")),
      );
      expect([lock.held, lock.waiting]).toEqual([false, 0]);
    },
  );

  it("removes a waiting task whose signal is aborted", async () => {
    const { timers, runUntil } = createVirtualRuntime();
    const lock = new FairLock();
    const controller = new AbortController();
    const order: string[] = [];
    const first = lock.run(() => timers.sleep(10));
    const second = lock.run(() => order.push("second"), controller.signal);
    const third = lock.run(() => order.push("third"));
    controller.abort(new Error("gave up"));
    await expect(second).rejects.toThrow("gave up");
    await runUntil(Promise.all([first, third]));
    expect(order).toEqual(["third"]);
    await expect(lock.run(() => {}, controller.signal)).rejects.toThrow("gave up");
    expect(lock.held).toBe(false);
  });
});

describe("KeyedLock", () => {
  it("runs tasks of one key one after another, and others at the same time", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    const locks = new KeyedLock<string>();
    const done: string[] = [];
    const task = (key: string, name: string) =>
      locks.run(key, async () => {
        await timers.sleep(10);
        done.push(`${name} ${clock.monotonic()}`);
      });
    await runUntil(Promise.all([task("a", "a1"), task("a", "a2"), task("b", "b1")]));
    expect(done).toEqual(["a1 10", "b1 10", "a2 20"]);
    expect(locks.size).toBe(0);
  });

  it("is locked while a task runs or waits, also after a waiting task was aborted", async () => {
    const { timers, runUntil } = createVirtualRuntime();
    const locks = new KeyedLock<string>();
    const controller = new AbortController();
    const first = locks.run("k", () => timers.sleep(10));
    const waiter = locks.run("k", () => {}, controller.signal);
    controller.abort(new Error("gave up"));
    await expect(waiter).rejects.toThrow("gave up");
    expect(locks.isHeld("k")).toBe(true);
    await runUntil(first);
    expect(locks.isHeld("k")).toBe(false);
  });
});

describe("TaskQueue", () => {
  it("starts a waiting task in the async context of its caller", async () => {
    const storage = new AsyncLocalStorage<string>();
    const queue = new TaskQueue(1);
    const contexts: (string | undefined)[] = [];
    const ask = (name: string) => storage.run(name, () => queue.run(async () => contexts.push(storage.getStore())));
    await Promise.all(["a", "b", "c"].map(ask));
    expect(contexts).toEqual(["a", "b", "c"]);
    storage.disable();
  });

  it("limits the concurrency and starts tasks in order", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    const started: string[] = [];
    const results = await runUntil(
      mapConcurrently(["a", "b", "c", "d", "e"], 2, async (name, index) => {
        started.push(`${name} ${clock.monotonic()}`);
        await timers.sleep(10);
        return index;
      }),
    );
    expect(started).toEqual(["a 0", "b 0", "c 10", "d 10", "e 20"]);
    expect(results).toEqual([0, 1, 2, 3, 4]);
  });

  it("has no limit with 0", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    const queue = new TaskQueue(0);
    const tasks = Array.from({ length: 50 }, () => queue.run(() => timers.sleep(10)));
    expect([queue.running, queue.waiting]).toEqual([50, 0]);
    await runUntil(Promise.all(tasks));
    expect(clock.monotonic()).toBe(10);
  });

  it("drops a waiting task when its signal is aborted", async () => {
    const { timers, runUntil } = createVirtualRuntime();
    const queue = new TaskQueue(1);
    const controller = new AbortController();
    const first = queue.run(() => timers.sleep(10));
    let ran = false;
    const second = queue.run(async () => {
      ran = true;
    }, controller.signal);
    expect(queue.waiting).toBe(1);
    controller.abort(new Error("cancelled"));
    await expect(second).rejects.toThrow("cancelled");
    await runUntil(Promise.all([first, queue.idle()]));
    expect(ran).toBe(false);
  });
});

describe("retry", () => {
  const failing = (times: number, clock: { monotonic(): number }) => {
    const tried: number[] = [];
    const action = async (attempt: number) => {
      tried.push(clock.monotonic());
      if (attempt <= times) {
        throw new Error(`try ${attempt}`);
      }
      return "done";
    };
    return { tried, action };
  };

  it("waits in virtual time between attempts and returns the result", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    const { tried, action } = failing(3, clock);
    const retries: string[] = [];
    const result = await runUntil(
      retry(timers, action, {
        attempts: 4,
        delay: backOff({ first: 1_000, most: 3_000 }),
        onRetry: (error, attempt, delay) => retries.push(`${error.message} ${attempt} ${delay}`),
      }),
    );
    expect(result).toBe("done");
    expect(tried).toEqual([0, 1_000, 3_000, 6_000]);
    expect(retries).toEqual(["try 1 1 1000", "try 2 2 2000", "try 3 3 3000"]);
  });

  it("retries immediately, without a timer, if there is no delay", async () => {
    const { timers, clock, world } = createVirtualRuntime();
    const { tried, action } = failing(2, clock);
    expect(await retry(timers, action, { attempts: 3 })).toBe("done");
    expect([tried, world.planned]).toEqual([[0, 0, 0], 0]);
  });

  it("ends with the last error, without a wait after it", async () => {
    const { timers, clock, runUntil, world } = createVirtualRuntime();
    const { tried, action } = failing(9, clock);
    await expect(runUntil(retry(timers, action, { attempts: 3, delay: () => 100 }))).rejects.toThrow("try 3");
    expect(tried).toEqual([0, 100, 200]);
    expect([clock.monotonic(), world.planned]).toEqual([200, 0]);
  });

  it("does not retry errors that do not justify it, nor defects", async () => {
    const { timers, clock, runUntil } = createVirtualRuntime();
    const { tried, action } = failing(9, clock);
    const options = { attempts: 3, delay: () => 100, retryOn: (error: Error) => error.message !== "try 2" };
    await expect(runUntil(retry(timers, action, options))).rejects.toThrow("try 2");
    expect(tried).toEqual([0, 100]);
    let calls = 0;
    const defect = retry(
      timers,
      async () => {
        calls += 1;
        throw new TypeError("undefined is not a function");
      },
      { attempts: 3, delay: () => 100 },
    );
    await expect(runUntil(defect)).rejects.toThrow(TypeError);
    expect(calls).toBe(1);
  });

  it("stops waiting when its signal is aborted", async () => {
    const { timers, clock, advance, world } = createVirtualRuntime();
    const { action } = failing(Number.POSITIVE_INFINITY, clock);
    const controller = new AbortController();
    const forever = retry(timers, action, {
      attempts: Number.POSITIVE_INFINITY,
      delay: () => 60_000,
      signal: controller.signal,
    });
    const rejection = expect(forever).rejects.toThrow("shutting down");
    await advance(150_000);
    controller.abort(new Error("shutting down"));
    await rejection;
    expect(world.planned).toBe(0);
  });

  it("throws the signal's reason when it is aborted before or during an attempt, even a successful or retryable one", async () => {
    const { timers } = createVirtualRuntime();
    const aborting = (attempt: number, error?: Error) => {
      const controller = new AbortController();
      const tried: number[] = [];
      const action = async (number: number) => {
        tried.push(number);
        if (number === attempt) {
          controller.abort(new Error("shutting down"));
        }
        if (number < attempt || error) {
          throw error ?? new Error("again");
        }
      };
      const retryOn = ({ message }: Error) => message === "again";
      return {
        controller,
        tried,
        made: () => retry(timers, action, { attempts: 9, retryOn, signal: controller.signal }),
      };
    };
    const before = aborting(0);
    before.controller.abort(new Error("shutting down"));
    await expect(before.made()).rejects.toThrow("shutting down");
    expect(before.tried).toEqual([]);
    for (const [attempt, error, message] of [
      [1, undefined, "shutting down"],
      [2, undefined, "shutting down"],
      [1, new Error("again"), "shutting down"],
      [2, new Error("again"), "shutting down"],
      [1, new Error("final"), "final"],
    ] as const) {
      const { tried, made } = aborting(attempt, error);
      await expect(made()).rejects.toThrow(message);
      expect(tried).toEqual(Array.from({ length: attempt }, (_, index) => index + 1));
    }
  });

  it("shortens delays at random by at most the given share", () => {
    const { random } = createVirtualRuntime();
    const delay = backOff({ first: 100, most: 100, jitter: { random, share: 0.5 } });
    const drawn = Array.from({ length: 100 }, () => delay(1));
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...drawn)).toBeLessThanOrEqual(100);
    expect(new Set(drawn).size).toBeGreaterThan(10);
  });
});
