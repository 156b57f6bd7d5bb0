import { describe, expect, it } from "vitest";
import { faultPoint, runSteps, STOP, stepList } from "../../../../../src/agent/operations/flow/step-list.js";
import { STEP_NAMES } from "../../../../../src/agent/operations/table.js";

function noting(fails?: string) {
  return stepList<string[]>("move", {
    first: async (seen) => {
      seen.push("first");
    },
    second: async (seen) => {
      seen.push("second");
      if (fails === "second") {
        throw new Error("second failed");
      }
      return fails === "stop" ? STOP : undefined;
    },
    third: async (seen) => {
      seen.push("third");
    },
  });
}

describe("lists of steps", () => {
  it("runs the steps in order, with the fault point before each", async () => {
    const seen: string[] = [];
    const hit = async (point: string) => {
      seen.push(point);
    };
    expect(await runSteps({ faults: { hit } }, noting(), seen)).toBe(true);
    expect(seen).toEqual(["agent.move.first", "first", "agent.move.second", "second", "agent.move.third", "third"]);
  });

  it("ends where a step says stop", async () => {
    const seen: string[] = [];
    expect(await runSteps({}, noting("stop"), seen)).toBe(false);
    expect(seen).toEqual(["first", "second"]);
  });

  it("ends with what a step throws, and with the fault that was set before it", async () => {
    const seen: string[] = [];
    await expect(runSteps({}, noting("second"), seen)).rejects.toThrow("second failed");
    expect(seen).toEqual(["first", "second"]);
    const hit = async (point: string) => {
      if (point === faultPoint("move", "third")) {
        throw new Error("set on purpose");
      }
    };
    await expect(runSteps({ faults: { hit } }, noting(), seen)).rejects.toThrow("set on purpose");
    expect(seen).toEqual(["first", "second", "first", "second"]);
  });

  it("gives every operation's list a name of its own, and names no step twice", () => {
    expect(Object.keys(STEP_NAMES)).toContain("resize_instance");
    for (const names of Object.values(STEP_NAMES)) {
      expect(new Set(names).size).toBe(names.length);
    }
    expect(STEP_NAMES.prep_resize).toEqual(["accept", "claim", "cast"]);
  });
});
