import { expect, it } from "vitest";
import { Bursts } from "../../../src/runtime/batches.js";
import { createVirtualRuntime } from "../../../src/simulation/create-virtual-runtime.js";

function begin() {
  const runtime = createVirtualRuntime();
  const handed: (readonly number[])[] = [];
  const bursts = new Bursts<number>(runtime.timers, 50, (all) => handed.push(all));
  return { runtime, bursts, handed };
}

it("hands on the first at once, and what follows soon together", async () => {
  const { runtime, bursts, handed } = begin();
  bursts.add(1);
  expect(handed).toEqual([[1]]);
  bursts.add(2);
  await runtime.advance(49);
  bursts.add(3);
  expect(handed).toEqual([[1]]);
  await runtime.advance(1);
  expect(handed).toEqual([[1], [2, 3]]);
  bursts.add(4);
  await runtime.advance(50);
  expect(handed).toEqual([[1], [2, 3], [4]]);
});

it("hands on at once again after a pause, of which nothing is left behind", async () => {
  const { runtime, bursts, handed } = begin();
  bursts.add(1);
  await runtime.advance(50);
  bursts.add(2);
  expect(handed).toEqual([[1], [2]]);
});

it("hands on what waits when it is told to, and nothing where nothing waits", async () => {
  const { runtime, bursts, handed } = begin();
  bursts.flush();
  bursts.add(1);
  bursts.add(2);
  bursts.flush();
  expect(handed).toEqual([[1], [2]]);
  await runtime.advance(100);
  expect(handed).toHaveLength(2);
});

it("hands on what waits after this turn when it is to hasten", async () => {
  const { runtime, bursts, handed } = begin();
  bursts.add(1);
  bursts.add(2);
  bursts.hasten();
  bursts.add(3);
  bursts.hasten();
  expect(handed).toEqual([[1]]);
  await runtime.advance(0);
  expect(handed).toEqual([[1], [2, 3]]);
});
