import { describe, expect, test } from "vitest";
import { isNamePattern, NamePattern } from "../../../../src/control-plane/compute/api/name-pattern.js";
import { EventLoopTicks } from "../../../../src/control-plane/event-loop.js";

const LONG = "a".repeat(255);

describe("a pattern of names", () => {
  test.each<[string, string, boolean]>([
    ["WEB", "my-web-1", true],
    ["^.*-1$", "web-1", true],
    ["(web|db)-1", "db-1", true],
    [String.raw`a\-b`, "xa-by", true],
    [String.raw`a\-b`, "a+b", false],
    [String.raw`1\Z`, "web-1", true],
    [String.raw`1\Z`, "web-12", false],
    [String.raw`caf\é`, "café", true],
    [String.raw`\bdb\b`, "web db 1", true],
    ["[[:alpha:]]{3}-[0-9]{1,3}", "web-12", true],
    ["(?i)web", "WEB", true],
    ["(?P<n>we)b", "web", true],
    ["x{", "x{", true],
    ["[]a]", "]", true],
  ])("%s in %s: %s", (pattern, name, expected) => {
    expect(new NamePattern(pattern).matches(name)).toBe(expected);
  });

  test.each<[string, string | undefined]>([
    ["web", "%web%"],
    ["^Web-1$", "Web-1"],
    [String.raw`^web\-1\.example`, "web-1.example%"],
    ["a_b%c", String.raw`%a\_b\%c%`],
    [String.raw`\\\_`, String.raw`%\\\_%`],
    ["café", undefined],
    ["web-[0-9]", undefined],
    ["web|db", undefined],
    ["a.b", undefined],
    [String.raw`\bdb`, undefined],
    ["^$", undefined],
  ])("%s is like %s", (pattern, like) => {
    expect(new NamePattern(pattern).like).toBe(like);
  });

  // A backtracking matcher does not finish these.
  test.each(["(a|a)".repeat(40), "(a|aa)*", "(.?)".repeat(60), "(a+)+", "(a*)*", "(.*)".repeat(60), "(?:a?){50}a{50}"])(
    "%sb is matched against a long name in linear time",
    (pattern) => {
      expect(new NamePattern(`${pattern}b`).matches(LONG)).toBe(false);
    },
  );

  test.each([
    "",
    "(",
    "*",
    "a**",
    "[",
    "[b-a]",
    "a{2,1}",
    "x\\",
    String.raw`(a)\1`,
    "(?P<n>a)(?P=n)",
    "(?=a)b",
    "(?<!a)b",
    "(?<n>a)",
    String.raw`\Qa\E`,
    String.raw`\pL`,
    String.raw`\z`,
    "x".repeat(256),
    ".{501}",
    "((a{9}){9}){9}",
    "([a-z]{0,100}a){6}",
  ])("%s is invalid", (pattern) => {
    expect(isNamePattern(pattern)).toBe(false);
  });

  test("yields to other requests between names", async () => {
    const pattern = new NamePattern(`${"(a|a)".repeat(40)}b`);
    const names = Array.from({ length: 1_000 }, (_, index) => `${LONG}${index === 500 ? "b" : ""}`);
    let now = 0;
    let pauses = 0;
    const clock = { monotonic: () => (now += 3) };
    const timers = {
      sleep: async () => {
        pauses += 1;
      },
    };
    const found = await pattern.select(names, (name) => name, new EventLoopTicks({ clock, timers }));
    expect(found).toEqual([`${LONG}b`]);
    expect(pauses).toBeGreaterThan(50);
  });
});
