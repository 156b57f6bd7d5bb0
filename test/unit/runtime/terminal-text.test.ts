import { describe, expect, test } from "vitest";
import { terminalText, terminalValue } from "../../../src/runtime/error-messages.js";

describe("text for a terminal", () => {
  test.each<[string, string, string]>([
    ["vm1 été 名", "vm1 été 名", "vm1 été 名"],
    ["a\nb\tc", "a\nb\tc", "a\\nb\\tc"],
    ["a\rb", "a\\rb", "a\\rb"],
    ["\u001b]0;title\u0007", "\\u001b]0;title\\u0007", "\\u001b]0;title\\u0007"],
    ["\u001b[2J\u001b[1A", "\\u001b[2J\\u001b[1A", "\\u001b[2J\\u001b[1A"],
    ["\u001b[31mred\u001b[39m", "\u001b[31mred\u001b[39m", "\\u001b[31mred\\u001b[39m"],
    ["\u009b2J\u007f", "\\u009b2J\\u007f", "\\u009b2J\\u007f"],
    ["abc\u202ecba\u2028", "abc\\u202ecba\\u2028", "abc\\u202ecba\\u2028"],
    ["\ud800", "\\ud800", "\\ud800"],
  ])("%j", (text, expectedText, value) => {
    expect([terminalText(text), terminalValue(text)]).toEqual([expectedText, value]);
  });

  test("JSON remains the same JSON", () => {
    const value = { name: "\u001b[2J\u009b\u202e" };
    expect(JSON.parse(terminalText(JSON.stringify(value, null, 2)))).toEqual(value);
  });
});
