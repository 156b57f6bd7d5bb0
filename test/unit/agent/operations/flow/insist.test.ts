import { expect, test } from "vitest";
import { insist } from "../../../../../src/agent/operations/flow/insist.js";
import { VirtualWorld } from "../../../../../src/simulation/virtual-world.js";

const world = () => new VirtualWorld({ seed: "insist" }).spawn({ name: "agent" });

test("a Placement that is back after six seconds is asked until it answers", async () => {
  const runtime = world();
  const died = runtime.clock.now();
  const asked: number[] = [];
  const answer = insist({ runtime }, async () => {
    asked.push(runtime.clock.now() - died);
    return runtime.clock.now() - died < 6000 ? null : "gone";
  });
  await runtime.advance(10_000);
  expect(await answer).toBe("gone");
  expect(asked).toEqual([0, 1000, 3000, 7000]);
});

test("nobody answers four times: null, and no fifth time (V30)", async () => {
  const runtime = world();
  let asked = 0;
  const answer = insist({ runtime }, async () => {
    asked += 1;
    return null;
  });
  await runtime.advance(60_000);
  expect(await answer).toBeNull();
  expect(asked).toBe(4);
});

test("an error ends it at once", async () => {
  const runtime = world();
  const refuse = async () => {
    throw new Error("refused");
  };
  await expect(insist({ runtime }, refuse)).rejects.toThrow("refused");
});
