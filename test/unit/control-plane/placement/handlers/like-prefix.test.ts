import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { beginsLike } from "../../../../../src/control-plane/placement/handlers/traits.js";
import { property } from "../../../../fixtures/property.js";

describe("prefixes as in SQL's LIKE", () => {
  test.each<[string, string, boolean]>([
    ["HW_CPU_X86_AVX", "HW_CPU", true],
    ["HW_CPU_X86_AVX", "hw_cpu", true],
    ["HW_CPU_X86_AVX", "CPU", false],
    ["HW_CPU_X86_AVX", "%AVX", true],
    ["HW_CPU_X86_AVX", "%X86%V", true],
    ["HW_CPU_X86_AVX", "H__CPU", true],
    ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX_", false],
    ["HW_CPU_X86_AVX", "HW_CPU_X86_AVX%", true],
    ["HW", "", true],
    ["A.B", "a.b", true],
    ["AxB", "a.b", false],
  ])("%s, %s: %s", (name, prefix, expected) => {
    expect(beginsLike(name, prefix)).toBe(expected);
  });

  const wild = fc.string({ unit: fc.constantFrom("a", "b", "_", "%"), maxLength: 8 });
  property([fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 8 }), wild])(
    "as the regular expression that means the same",
    (name, prefix) => {
      const source = prefix.replaceAll("%", ".*").replaceAll("_", ".");
      expect(beginsLike(name, prefix)).toBe(new RegExp(`^${source}`).test(name));
    },
  );

  // The equivalent regular expression would not terminate.
  test("many wildcards take no longer than others", () => {
    expect(beginsLike("A".repeat(255), `${"%A".repeat(200)}%B`)).toBe(false);
  });
});
