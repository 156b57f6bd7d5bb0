import { expect, it } from "vitest";
import { Batcher } from "../../../src/runtime/task-queue.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

function begin() {
  const runtime = createVirtualRuntime();
  const handed: (readonly number[])[] = [];
  const batcher = new Batcher<number>(runtime.timers, 50, (all) => handed.push(all));
  return { runtime, batcher: batcher, handed };
}

it("hands on the first at once, and what follows soon together", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.add(1);
  expect(handed).toEqual([[1]]);
  batcher.add(2);
  await runtime.advance(49);
  batcher.add(3);
  expect(handed).toEqual([[1]]);
  await runtime.advance(1);
  expect(handed).toEqual([[1], [2, 3]]);
  batcher.add(4);
  await runtime.advance(50);
  expect(handed).toEqual([[1], [2, 3], [4]]);
});

it("hands on at once again after a pause, of which nothing is left behind", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.add(1);
  await runtime.advance(50);
  batcher.add(2);
  expect(handed).toEqual([[1], [2]]);
});

it("hands on what waits when it is told to, and nothing where nothing waits", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.flush();
  batcher.add(1);
  batcher.add(2);
  batcher.flush();
  expect(handed).toEqual([[1], [2]]);
  await runtime.advance(100);
  expect(handed).toHaveLength(2);
});

it("hands on what waits after this turn when it is to hasten", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.add(1);
  batcher.add(2);
  batcher.hasten();
  batcher.add(3);
  batcher.hasten();
  expect(handed).toEqual([[1]]);
  await runtime.advance(0);
  expect(handed).toEqual([[1], [2, 3]]);
});
