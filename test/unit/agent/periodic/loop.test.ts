import { expect, test } from "vitest";
import { NO_METRICS } from "../../../../src/agent/metrics/metrics.js";
import { PeriodicLoop, type PeriodicTask } from "../../../../src/agent/periodic/loop.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";

function setUp(tasks: readonly PeriodicTask<null>[], fuzzyDelay = 0) {
  const runtime = createVirtualRuntime();
  const { clock, timers, random, logger } = runtime;
  const loop = new PeriodicLoop({
    subject: null,
    tasks,
    clock,
    timers,
    random,
    logger,
    metrics: NO_METRICS,
    fuzzyDelay,
  });
  loop.start();
  return { runtime, loop };
}

function task(
  name: string,
  spacing: number,
  runs: string[],
  more: Partial<PeriodicTask<null>> = {},
): PeriodicTask<null> {
  return {
    name,
    spacing: () => spacing,
    run: async () => {
      runs.push(name);
    },
    ...more,
  };
}

test("4.10 spacing: given, 0 for the default of 60 s, negative for never; immediate ones run at once", async () => {
  const runs: string[] = [];
  const { runtime } = setUp([
    task("given", 100, runs),
    task("default", 0, runs),
    task("never", -1, runs),
    task("immediate", 100, runs, { immediate: () => true }),
  ]);
  await runtime.advance(1);
  expect(runs).toEqual(["immediate"]);
  await runtime.advance(60_000);
  expect(runs).toEqual(["immediate", "default"]);
  await runtime.advance(60_000);
  expect(runs).toEqual(["immediate", "default", "given", "immediate", "default"]);
});

test("4.10 a task that wants it runs again soon, as long as it does", async () => {
  const runs: string[] = [];
  const runsAgain = [true, true, false];
  const { runtime } = setUp([task("eager", 60, runs, { soon: () => runsAgain.shift() === true })]);
  await runtime.advance(60_000);
  expect(runs).toHaveLength(1);
  await runtime.advance(10_000);
  expect(runs).toHaveLength(3);
  await runtime.advance(55_000);
  expect(runs).toHaveLength(3);
  await runtime.advance(5_000);
  expect(runs).toHaveLength(4);
});

test("4.10 an error in one task is logged and stops neither it nor others", async () => {
  const runs: string[] = [];
  const { runtime } = setUp([
    task("bad", 60, runs, {
      run: async () => {
        runs.push("bad");
        throw new Error("broken");
      },
    }),
    task("good", 60, runs),
  ]);
  await runtime.advance(120_000);
  expect(runs).toEqual(["bad", "good", "bad", "good"]);
  expect(runtime.logs.filter(({ level }) => level === "error")).toHaveLength(2);
});

test("4.10 tasks run one after the other; a long one delays the others and itself, and is not repeated to catch up", async () => {
  const runs: string[] = [];
  let inside = 0;
  const { runtime } = setUp([
    task("long", 60, runs, {
      run: async () => {
        inside += 1;
        expect(inside).toBe(1);
        await runtime.timers.sleep(200_000);
        inside -= 1;
        runs.push("long");
      },
    }),
    task("short", 60, runs),
  ]);
  await runtime.advance(261_000);
  expect(runs).toEqual(["long", "short"]);
});

test("periodic_fuzzy_delay: the first round comes after a random delay of at most that", async () => {
  const runs: string[] = [];
  const { runtime } = setUp([task("immediate", 1_000, runs, { immediate: () => true })], 60);
  await runtime.advance(60_001);
  expect(runs).toEqual(["immediate"]);
  const started = new Set<number>();
  for (let index = 0; index < 8; index += 1) {
    const world = createVirtualRuntime({ seed: index });
    const { clock, timers, random, logger } = world;
    const note = task("immediate", 1_000, [], {
      immediate: () => true,
      run: async () => void started.add(clock.monotonic()),
    });
    new PeriodicLoop({
      subject: null,
      tasks: [note],
      clock,
      timers,
      random,
      logger,
      metrics: NO_METRICS,
      fuzzyDelay: 60,
    }).start();
    await world.advance(60_001);
  }
  expect(started.size).toBeGreaterThan(4);
});

test("hosts of a process begin on quarters of a second, and stay on them however long their tasks take", async () => {
  const world = createVirtualRuntime({ seed: 1 });
  const { clock, timers, random, logger } = world;
  await world.advance(77);
  const begins: number[] = [];
  const pauses: number[] = [];
  for (let index = 0; index < 8; index += 1) {
    let ended = 0;
    const tasks = [
      task("slow", 60, [], {
        immediate: () => true,
        run: async () => {
          begins.push(clock.monotonic() % 250);
          await timers.sleep(random.integer(1, 900));
          ended = clock.monotonic();
        },
      }),
      task("next", 60, [], { immediate: () => true, run: async () => void pauses.push(clock.monotonic() - ended) }),
    ];
    new PeriodicLoop({
      subject: null,
      tasks,
      clock,
      timers,
      random,
      logger,
      metrics: NO_METRICS,
      fuzzyDelay: 60,
    }).start();
  }
  await world.advance(240_000);
  expect(begins.length).toBeGreaterThanOrEqual(24);
  expect([new Set(begins), new Set(pauses)]).toEqual([new Set([0]), new Set([0])]);
});

test("stop: waits for the task that runs, and starts no other", async () => {
  const runs: string[] = [];
  const { runtime, loop } = setUp([
    task("long", 60, runs, {
      immediate: () => true,
      run: async () => {
        await runtime.timers.sleep(10_000);
        runs.push("long");
      },
    }),
    task("next", 60, runs, { immediate: () => true }),
  ]);
  await runtime.advance(1);
  await runtime.runUntil(loop.stop());
  await runtime.advance(600_000);
  expect(runs).toEqual(["long"]);
});
