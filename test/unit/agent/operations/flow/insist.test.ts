import { expect, test } from "vitest";
import { insist } from "../../../../../src/agent/operations/flow/release-allocations.js";
import { VirtualWorld } from "../../../../../src/simulation/virtual-world.js";

const world = () => new VirtualWorld({ seed: "insist" }).spawn({ name: "agent" });

test("a Placement that returns after six seconds is called until it responds", async () => {
  const runtime = world();
  const died = runtime.clock.now();
  const callTimes: number[] = [];
  const result = insist({ runtime }, async () => {
    callTimes.push(runtime.clock.now() - died);
    return runtime.clock.now() - died < 6000 ? null : "gone";
  });
  await runtime.advance(10_000);
  expect(await result).toBe("gone");
  expect(callTimes).toEqual([0, 1000, 3000, 7000]);
});

test("four calls without a response: null, and no fifth call (V30)", async () => {
  const runtime = world();
  let callCount = 0;
  const result = insist({ runtime }, async () => {
    callCount += 1;
    return null;
  });
  await runtime.advance(60_000);
  expect(await result).toBeNull();
  expect(callCount).toBe(4);
});

test("an error ends it at once", async () => {
  const runtime = world();
  const reject = async () => {
    throw new Error("refused");
  };
  await expect(insist({ runtime }, reject)).rejects.toThrow("refused");
});
