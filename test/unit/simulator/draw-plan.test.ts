import { describe, expect, it } from "vitest";
import { drawPlan, PROFILES } from "../../simulator/draw-plan.js";
import type { StepKind } from "../../simulator/plan.js";

const TEN_MINUTES = 600_000;

function kindsOf(profile: string, seeds: number): ReadonlySet<StepKind> {
  const kinds = Array.from({ length: seeds }, (_, seed) => {
    const plan = drawPlan(`${seed}`, TEN_MINUTES, PROFILES[profile] ?? { pace: 0, leftOut: 0 });
    return plan.steps.map(({ kind }) => kind);
  });
  return new Set(kinds.flat());
}

describe("a plan", () => {
  it.each(["metal", "nodes", "ring"])("has trouble in the network of Ironic's agents in %s", (profile) => {
    expect(kindsOf(profile, 5)).toContain("ironic-network");
  });

  it("has late lists of nodes where a profile asks for them, and nowhere else", () => {
    expect(kindsOf("listings", 5)).toContain("ironic-listing");
    expect(kindsOf("metal", 20)).not.toContain("ironic-listing");
  });

  it("has neither in seeds that have an Ironic by chance", () => {
    const kinds = kindsOf("swarm", 40);
    expect(kinds).toContain("create-bare-metal");
    expect(kinds).not.toContain("ironic-network");
  });
});
