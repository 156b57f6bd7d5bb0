import { expect, test } from "vitest";
import type { OperationServices } from "../../../../../src/agent/operations/flow/contract.js";
import { ProgressSaver } from "../../../../../src/agent/operations/live-migration/copy-guest.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../../src/simulation/virtual-world.js";

function progress(done: number) {
  return {
    memoryTotal: 100,
    memoryProcessed: done,
    memoryRemaining: 100 - done,
    diskTotal: 0,
    diskProcessed: 0,
    diskRemaining: 0,
  };
}

function saverOf(runtime: VirtualRuntime, saved: (readonly [at: number, done: number])[], fail = false): ProgressSaver {
  const call = async (method: string, params: { readonly changes: { readonly memoryProcessed: number } }) => {
    expect(method).toBe("migration_save");
    saved.push([runtime.clock.monotonic(), params.changes.memoryProcessed]);
    if (fail) {
      throw new Error("no conductor");
    }
  };
  return new ProgressSaver({ runtime, logger: runtime.logger, conductor: { call } } as unknown as OperationServices, 7);
}

test("6.5 row 7 progress is saved once a second, and the last of it is left to whoever saves the end", async () => {
  const world = new VirtualWorld();
  const saved: (readonly [number, number])[] = [];
  const saver = saverOf(world.spawn(), saved);
  for (let done = 1; done <= 25; done += 1) {
    saver.note(progress(done + 0.7));
    await world.advance(100);
  }
  saver.note(progress(99));
  await expect(saver.close()).resolves.toMatchObject({ memoryProcessed: 99 });
  const times = saved.map(([at]) => at);
  for (const [index, at] of times.entries()) {
    expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(1_000);
  }
  await world.advance(5_000);
  expect(saved.length).toBe(2);
});

test("6.5 row 7 progress that cannot be saved does no harm", async () => {
  const world = new VirtualWorld();
  const saved: (readonly [number, number])[] = [];
  const saver = saverOf(world.spawn(), saved, true);
  saver.note(progress(1));
  await world.advance(1_000);
  expect(saved.map(([, done]) => done)).toEqual([1]);
  await expect(saver.close(), "what was tried is not tried again").resolves.toEqual({});
});
