import { describe, expect, it } from "vitest";
import { compiled, edited, mutated } from "../../simulator/planted/edited-source.js";
import { readPlantedOptions } from "../../simulator/planted/options.js";
import { plantedBugs } from "../../simulator/planted/plant.js";
import { HEADER, type PlantedResult, passed, row, summary } from "../../simulator/planted/report.js";
import { findStepOrders } from "../../simulator/planted/step-orders.js";

const ROOT = new URL("../../../", import.meta.url);

describe("planted bugs", () => {
  it.each(plantedBugs(ROOT))("$name is a quirk, or its text is where it was", ({ quirks, sources }) => {
    expect(quirks.length + sources.size).toBeGreaterThan(0);
    for (const [file, source] of sources) {
      expect(compiled(file, source)).toMatch(/\bexport\b/);
    }
  });

  it("are an error where the product's text has changed", () => {
    const edit = { file: "a.ts", find: "b", replace: "$&" };
    expect(edited("abc", edit)).toBe("a$&c");
    expect(() => edited("ac", edit)).toThrow("a.ts has 0 times, expected once: b");
    expect(() => edited("abab", edit)).toThrow("a.ts has 2 times");
  });
});

describe("mutants", () => {
  it("swap two steps", () => {
    const text = "const A = stepList('a', {\n  // First.\n  one: f,\n  two: g,\n});";
    const [swap, ...more] = findStepOrders("a.ts", text);
    expect(more).toEqual([]);
    expect(swap?.change).toBe("two before one");
    expect(swap && mutated(text, swap)).toBe("const A = stepList('a', ({\n  // First.\n  two: g,\n  one: f,\n}));");
  });

  it("drop statements and leave functions at once", () => {
    const base = { path: "a.ts", line: 1, operator: "o", change: "c", replacement: "return;" } as const;
    expect(mutated("if (a) b(); c();", { ...base, shape: "statement", start: 7, end: 11 })).toBe("if (a) {} c();");
    expect(mutated("f() {b()}", { ...base, shape: "entry", start: 5, end: 8 })).toBe("f() { return; b()}");
  });
});

describe("the table", () => {
  const found: PlantedResult = {
    name: "lp-1853009",
    what: "what it is",
    known: true,
    seeds: 123,
    virtualHours: 1234.56,
    seconds: 120.04,
    found: {
      seed: 123_456,
      rule: "V1",
      what: "V1 something that is told at great length, and has\nmore than one line",
    },
    own: [],
  };
  const missed = { ...found, found: null };

  it("fits into 80 columns", () => {
    for (const line of [HEADER, row(found), row(missed)]) {
      expect(line.length).toBeLessThanOrEqual(80);
      expect(line).not.toContain("\n");
    }
    expect(row(missed)).toContain("not found");
  });

  it("names what was not found, and what fails without any bug", () => {
    expect(summary([missed])).toContain("not found: lp-1853009, what it is");
    const own = { ...found, own: [{ seed: 7, rule: "V2", what: "of its own" }] };
    expect(summary([own])).toContain("seed 7 fails without any bug: V2: of its own");
    expect([passed([found]), passed([missed]), passed([own])]).toEqual([true, false, false]);
    expect(passed([{ ...missed, known: false }])).toBe(true);
  });
});

it.each([
  [["--minutes", "0"], /--minutes 0: expected a number above 0/],
  [["--mutants", "-1"], /--mutants/],
  [["--profile", "wild"], /--profile wild: expected swarm/],
])("refuses %j", (args, reason) => {
  expect(() => readPlantedOptions(args, 2)).toThrow(reason);
});
