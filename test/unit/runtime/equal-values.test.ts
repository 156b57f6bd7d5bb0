import { expect, test } from "vitest";
import { EqualValues } from "../../../src/runtime/collections.js";

test("equal values are interned as one", () => {
  const values = new EqualValues<readonly string[]>();
  const first = ["a", "b"];
  expect(values.shared(first)).toBe(first);
  expect(values.shared(["a", "b"])).toBe(first);
  expect(values.shared(["b", "a"])).toEqual(["b", "a"]);
});

test("only recent values are retained", () => {
  const values = new EqualValues<readonly number[]>();
  const first = values.shared([0]);
  for (let number = 1; number <= 20; number += 1) {
    values.shared([number]);
  }
  const again = values.shared([0]);
  expect(again).not.toBe(first);
  expect(values.shared([0])).toBe(again);
});
