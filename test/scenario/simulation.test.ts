import { readdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { drawPlan, PROFILES, type Profile } from "../simulator/draw-plan.js";
import { readOptions } from "../simulator/options.js";
import type { Plan } from "../simulator/plan.js";
import { readPlanFile } from "../simulator/plan-file.js";
import { simulate } from "../simulator/simulate.js";

const CASES = fileURLToPath(new URL("../simulated/", import.meta.url));
const MINUTES = 60_000;

function swarm(seed: string, minutes: number): Plan {
  return drawPlan(seed, minutes * MINUTES, PROFILES.swarm as Profile);
}

describe("the simulator", async () => {
  const found = (await readdir(CASES)).filter((name) => name.endsWith(".json"));

  it.each(found)("finds no more what it once found: %s", async (name) => {
    const { breaches } = await simulate(readPlanFile(`${CASES}${name}`).plan);
    expect(breaches).toEqual([]);
  });

  it("does the same again for the same seed, to the last line of every log", async () => {
    const [one, other] = [await simulate(swarm("1", 1)), await simulate(swarm("1", 1))];
    expect(one.breaches).toEqual([]);
    expect(other.hash).toBe(one.hash);
    expect(one.lines.length).toBeGreaterThan(10);
    expect((await simulate(swarm("2", 1))).hash).not.toBe(one.hash);
  });

  it("chooses what comes first, where the seed lets it", async () => {
    const plan = swarm("1", 1);
    const other = {
      ...plan,
      deployment: { ...plan.deployment, interleave: plan.deployment.interleave === 0 ? 20 : 0 },
    };
    expect((await simulate(other)).hash).not.toBe((await simulate(plan)).hash);
  });

  it("draws for a step what it draws, whatever other steps there are", () => {
    const plan = swarm("7", 10);
    expect(swarm("7", 10)).toEqual(plan);
    expect(new Set(plan.steps.map(({ number }) => number)).size).toBe(plan.steps.length);
  });

  it.each([
    [["--seed", "x"], /--seed x: expected a whole number/],
    [["--profile", "wild"], /--profile wild: expected swarm, storm/],
    [["--hours", "0"], /--hours 0: expected a number above 0/],
  ])("refuses %j", (args, reason) => {
    expect(() => readOptions(args, { drawn: 1, cores: 2 })).toThrow(reason);
  });
});
