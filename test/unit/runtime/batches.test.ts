import { expect, it } from "vitest";
import { Batcher } from "../../../src/runtime/task-queue.js";
import { createVirtualRuntime } from "../../../src/simulation/virtual-world.js";

function begin() {
  const runtime = createVirtualRuntime();
  const handed: (readonly number[])[] = [];
  const batcher = new Batcher<number>(runtime.timers, 50, (all) => handed.push(all));
  return { runtime, batcher: batcher, handed };
}

it("delivers the first item immediately, and the following ones as a batch", async () => {
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

it("delivers immediately again after a pause, with nothing left over", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.add(1);
  await runtime.advance(50);
  batcher.add(2);
  expect(handed).toEqual([[1], [2]]);
});

it("delivers waiting items on flush, and nothing if there are none", async () => {
  const { runtime, batcher, handed } = begin();
  batcher.flush();
  batcher.add(1);
  batcher.add(2);
  batcher.flush();
  expect(handed).toEqual([[1], [2]]);
  await runtime.advance(100);
  expect(handed).toHaveLength(2);
});

it("delivers waiting items at the end of this tick on hasten", async () => {
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
