import { describe, expect, it } from "vitest";
import { faultPoint, runSteps, STOP, stepList } from "../../../../../src/agent/operations/flow/step-list.js";
import { STEP_NAMES } from "../../../../../src/agent/operations/table.js";

function noting(fails?: string) {
  return stepList<string[]>("move", {
    first: async (visited) => {
      visited.push("first");
    },
    second: async (visited) => {
      visited.push("second");
      if (fails === "second") {
        throw new Error("second failed");
      }
      return fails === "stop" ? STOP : undefined;
    },
    third: async (visited) => {
      visited.push("third");
    },
  });
}

describe("lists of steps", () => {
  it("runs the steps in order, with the fault point before each", async () => {
    const visited: string[] = [];
    const hit = async (point: string) => {
      visited.push(point);
    };
    expect(await runSteps({ faults: { hit } }, noting(), visited)).toBe(true);
    expect(visited).toEqual(["agent.move.first", "first", "agent.move.second", "second", "agent.move.third", "third"]);
  });

  it("ends where a step says stop", async () => {
    const visited: string[] = [];
    expect(await runSteps({}, noting("stop"), visited)).toBe(false);
    expect(visited).toEqual(["first", "second"]);
  });

  it("ends with what a step throws, and with the fault that was set before it", async () => {
    const visited: string[] = [];
    await expect(runSteps({}, noting("second"), visited)).rejects.toThrow("second failed");
    expect(visited).toEqual(["first", "second"]);
    const hit = async (point: string) => {
      if (point === faultPoint("move", "third")) {
        throw new Error("set on purpose");
      }
    };
    await expect(runSteps({ faults: { hit } }, noting(), visited)).rejects.toThrow("set on purpose");
    expect(visited).toEqual(["first", "second", "first", "second"]);
  });

  it("gives every operation's list a name of its own, and names no step twice", () => {
    expect(Object.keys(STEP_NAMES)).toContain("resize_instance");
    for (const names of Object.values(STEP_NAMES)) {
      expect(new Set(names).size).toBe(names.length);
    }
    expect(STEP_NAMES.prep_resize).toEqual(["accept", "claim", "cast"]);
  });
});
