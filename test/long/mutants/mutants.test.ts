import { fileURLToPath } from "node:url";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { ACCEPTED } from "../../mutants/accepted.js";
import { findMutations } from "../../mutants/operators.js";
import { FOLDERS, SourceTree } from "../../mutants/sources.js";
import { MutantSwitch, SWITCH } from "../../mutants/switch.js";
import { weave } from "../../mutants/weave.js";

const tree = new SourceTree(fileURLToPath(new URL("../../../", import.meta.url)));

function changesOf(text: string): string[] {
  return findMutations("a.ts", text).map(({ operator, change }) => `${operator}: ${change}`);
}

/** Returns the result of `f` in the source by mutant, beginning with the original. */
function evaluateMutants(text: string): Map<string, unknown> {
  const mutations = findMutations("a.js", text);
  const mutants = new MutantSwitch();
  const woven = weave(
    text,
    mutations.map((mutation, index) => ({ ...mutation, id: index + 1 })),
  );
  const globals: Record<symbol | string, unknown> = { [Symbol.for(SWITCH)]: mutants };
  const f = runInNewContext(`${woven}; f`, globals) as () => unknown;
  const changes = ["", ...mutations.map(({ change }) => change)];
  return new Map(
    changes.map((change, id) => {
      mutants.active = id;
      return [change, f()];
    }),
  );
}

describe("mutations", () => {
  it("are made of conditions, operators, defaults and constants", () => {
    expect(changesOf("if (a < b) f();")).toEqual([
      "condition: a < b → true",
      "condition: a < b → false",
      "operator: a < b → a <= b",
      "statement: drop f();",
    ]);
    expect(changesOf("x = (a ?? 1) && !b;")).toEqual([
      "statement: drop x = (a ?? 1) && !b;",
      "operator: (a ?? 1) && !b → (a ?? 1) || !b",
      "default: a ?? 1 → a",
      "number: 1 → 2",
      "not: !b → b",
    ]);
  });

  it("drop calls, members of literals, and function bodies", () => {
    expect(changesOf("async function f() { await g([a, 1]); h({ b, c }); }")).toEqual([
      "entry: return at once: async function f() { await g([a, 1]); h({ b, c }); }",
      "statement: drop await g([a, 1]);",
      "element: without a",
      "element: without 1",
      "number: 1 → 2",
      "statement: drop h({ b, c });",
      "property: without b",
      "property: without c",
    ]);
  });

  it("leave types, imports, and messages unchanged", () => {
    expect(
      changesOf(
        'import a from "a"; type T = "x"; this.logger.warn("bad", { a: 1 }); throw new Error("bad"); const k = `t`;',
      ),
    ).toEqual([]);
  });

  it("are active one at a time, even if nested", () => {
    const found = evaluateMutants("function f() { const a = [1, 2]; return a.length > 1 && a[0] === 1; }");
    expect(Object.fromEntries(found)).toEqual({
      "": true,
      "without 1": false,
      "without 2": false,
      "1 → 2": false,
      "2 → 3": true,
      "a.length > 1 && a[0] === 1 → a.length > 1 || a[0] === 1": true,
      "a.length > 1 → a.length >= 1": true,
      "0 → 1": false,
      "a[0] === 1 → a[0] !== 1": false,
    });
  });
});

describe("mutated code", () => {
  it("exists", () => {
    const files = tree.mutated();
    for (const folder of FOLDERS) {
      expect(files.some((path) => path.startsWith(folder))).toBe(true);
    }
  });

  it("runs with the tests that cover it", () => {
    const needs = tree.closure("test/unit/control-plane/scheduler/scheduler.test.ts");
    expect(needs).toContain("src/control-plane/scheduler/weighers.ts");
    expect(needs).not.toContain("src/agent/lifecycle/agent.ts");
  });

  it("still has every accepted survivor", () => {
    const gone = ACCEPTED.filter(
      ({ path, operator, change }) =>
        !findMutations(path, tree.text(path)).some((found) => found.operator === operator && found.change === change),
    );
    expect(gone).toEqual([]);
  });
});
