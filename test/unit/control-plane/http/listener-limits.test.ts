import { describe, expect, test } from "vitest";
import { excessOf, excessText, MESSAGE_LIMITS } from "../../../../src/control-plane/http/listener-limits.js";

const LIMITS = { bytes: 100_000, depth: 3, members: 10 };

describe("the limits of a message", () => {
  test.each<[string, string, ReturnType<typeof excessOf>]>([
    ["nothing", "", undefined],
    ["as deep as allowed", '{"a":[{"b":1}]}', undefined],
    ["one level more", '{"a":[{"b":[]}]}', "depth"],
    ["levels side by side", "[[],[],[[1]]]", undefined],
    ["as many as allowed", `[${"1,".repeat(9)}1]`, undefined],
    ["one member more", `[${"1,".repeat(10)}1]`, "members"],
    ["brackets in a text", `"${"[".repeat(50)}"`, undefined],
    ["commas in a text with quotes", String.raw`{"a\"${",".repeat(50)}":"\\","b":"\\\"[[[["}`, undefined],
    ["brackets behind a text that ends with a backslash", String.raw`["\\",[[[[]]]]]`, "depth"],
    ["a text without end", '["[[[[', undefined],
    ["more bytes, counted in UTF-8", "é".repeat(50_001), "bytes"],
  ])("%s", (_what, text, expected) => {
    expect(excessOf(text, LIMITS)).toBe(expected);
  });

  test("a million levels are detected without recursion", () => {
    expect(excessOf("[".repeat(1_000_000), MESSAGE_LIMITS.placement)).toBe("depth");
    expect(excessText("depth", MESSAGE_LIMITS.wire, "frame")).toBe("the frame is nested deeper than 32 levels");
  });
});
