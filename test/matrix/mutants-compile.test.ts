import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { compilable } from "../mutants/compile.js";
import { findMutations } from "../mutants/operators.js";
import { SourceTree } from "../mutants/sources.js";
import { drawMutants } from "../simulator/planted/draw-mutants.js";
import { compiled } from "../simulator/planted/edited-source.js";
import { plantedMutants } from "../simulator/planted/plant.js";

const ROOT = new URL("../../", import.meta.url);
const tree = new SourceTree(fileURLToPath(ROOT));

describe("mutations that the compiler checks", () => {
  it("are excluded if a value gets another type, and included if a condition changes", () => {
    const text =
      'type Row = { a: "x" | "y"; b?: number }; export function f(a: Row | null): Row { return a === null ? { a: "x", b: 1 } : a; }';
    const { root } = tree;
    const left = compilable({ root, text: () => text }, findMutations("src/a.ts", text));
    expect(left.map(({ operator, change }) => `${operator}: ${change}`)).toEqual([
      "condition: a === null → true",
      "condition: a === null → false",
      "property: without b: 1",
      "number: 1 → 2",
    ]);
  });

  it("are included if the unchanged copy has the same error", () => {
    const text = 'import { Box } from "./nowhere.js"; export const box = new Box({ n: 1 });';
    const { root } = tree;
    expect(compilable({ root, text: () => text }, findMutations("src/a.ts", text))).toHaveLength(2);
  });
});

describe("mutants of the simulator", () => {
  it("are equal for the same seed, as many of each kind, and all compile", { timeout: 60_000 }, () => {
    const drawn = plantedMutants(ROOT, 40, "1");
    const mutations = drawMutants(ROOT, 40, "1");
    expect(drawn.map(({ what }) => what.split(": ").slice(1).join(": "))).toEqual(
      mutations.map(({ change }) => change),
    );
    const kinds = mutations.map(({ kind }) => kind);
    for (const kind of ["claim", "compare-and-swap", "lease", "retry", "order"] as const) {
      expect(kinds.filter((one) => one === kind)).toHaveLength(8);
    }
    for (const { sources } of drawn) {
      for (const [file, source] of sources) {
        expect(compiled(file, source)).not.toBe("");
      }
    }
  });
});
