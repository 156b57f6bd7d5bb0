import { expect, test } from "vitest";
import { SparseMap, SparseSet } from "../../../src/runtime/collections.js";

test("a sparse map behaves like a map: before it has entries, with them, and after the last one", () => {
  const map = new SparseMap<string, number>();
  expect([map.size, map.has("a"), map.get("a"), map.delete("a"), [...map], [...map.keys()]]).toEqual([
    0,
    false,
    undefined,
    false,
    [],
    [],
  ]);
  map.set("a", 1).set("b", 2).set("a", 3);
  const met: unknown[] = [];
  map.forEach((value, key) => {
    met.push(key, value);
  });
  expect([[...map], [...map.values()], [...map.entries()], met]).toEqual([
    [
      ["a", 3],
      ["b", 2],
    ],
    [3, 2],
    [
      ["a", 3],
      ["b", 2],
    ],
    ["a", 3, "b", 2],
  ]);
  expect([map.delete("a"), map.delete("b"), map.size, [...map]]).toEqual([true, true, 0, []]);
  map.set("c", 4);
  map.clear();
  expect(map.size).toBe(0);
});

test("entries deleted during iteration are skipped, up to the last one", () => {
  const map = new SparseMap<number, number>().set(1, 1).set(2, 2).set(3, 3);
  const met: number[] = [];
  for (const key of map.keys()) {
    met.push(key);
    map.delete(1);
    map.delete(2);
    map.delete(3);
  }
  expect(met).toEqual([1]);
});

test("a sparse set behaves like a set", () => {
  const set = new SparseSet<string>();
  expect([set.size, set.has("a"), set.delete("a"), [...set]]).toEqual([0, false, false, []]);
  set.add("a").add("b").add("a");
  const met: string[] = [];
  set.forEach((member) => {
    met.push(member);
  });
  expect([set.size, set.has("a"), [...set], [...set.entries()], met]).toEqual([
    2,
    true,
    ["a", "b"],
    [
      ["a", "a"],
      ["b", "b"],
    ],
    ["a", "b"],
  ]);
  set.delete("b");
  expect([...set]).toEqual(["a"]);
  set.clear();
  expect(set.size).toBe(0);
});
