import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseIni } from "../../../src/config/ini-file.js";
import { property } from "../../fixtures/property.js";

function values(text: string) {
  return parseIni(text, "f").assignments.map(({ section, option, value }) => [section, option, value]);
}
const problems = (text: string) => parseIni(text, "f").problems.map(({ line, message }) => [line, message]);

describe("the dialect of oslo.config", () => {
  it("separates by = or :, whichever comes first, and leaves the other in the value", () => {
    expect(values("[s]\na = b:c\nd: e=f\ng=\n  h:i  ")).toEqual([
      ["s", "a", "b:c"],
      ["s", "d", "e=f"],
      ["s", "g", "\nh:i"],
    ]);
  });

  it("leaves %, ; and # inside a value unchanged", () => {
    expect(values("[s]\nconnection = mysql://u:p%40w@h/db?x=1;y#z ; no comment")).toEqual([
      ["s", "connection", "mysql://u:p%40w@h/db?x=1;y#z ; no comment"],
    ]);
  });

  it("joins continuation lines, which a blank line or a comment ends", () => {
    expect(values("[s]\na = 1,\n  2,\n\t3\nb = 4")).toEqual([
      ["s", "a", "1,\n2,\n3"],
      ["s", "b", "4"],
    ]);
    expect(problems("[s]\na = 1\n\n  2")).toEqual([[4, "Unexpected continuation line"]]);
    expect(problems("[s]\na = 1\n# why\n  2")).toEqual([[4, "Unexpected continuation line"]]);
  });

  it("treats an indented comment as a continuation", () => {
    expect(values("[s]\na = 1\n  # 2")).toEqual([["s", "a", "1\n# 2"]]);
  });

  it("removes one pair of equal quotes around the first line", () => {
    expect(values(`[s]\na = " x "\nb = 'y'\nc = "z'\nd = "\ne = ""`)).toEqual([
      ["s", "a", " x "],
      ["s", "b", "y"],
      ["s", "c", `"z'`],
      ["s", "d", ""],
      ["s", "e", ""],
    ]);
  });

  it("retains repeated keys and sections in order, with file and line", () => {
    const { assignments, sections } = parseIni("# head\n[a]\nx=1\n[b]\nx=2\n[a]\r\nx=3", "/etc/nova.conf");
    expect(assignments.map(({ section, value, line, path }) => `${path}:${line} ${section} ${value}`)).toEqual([
      "/etc/nova.conf:3 a 1",
      "/etc/nova.conf:5 b 2",
      "/etc/nova.conf:7 a 3",
    ]);
    expect(sections.map(({ section, line }) => [section, line])).toEqual([
      ["a", 2],
      ["b", 4],
      ["a", 6],
    ]);
  });

  it("reports every problem with its line, and continues", () => {
    expect(problems("early = 1\n[s\n[]\n[s] x\n[s]\n = v\nno assignment\n  dangling\nok = 1")).toEqual([
      [1, "Section must be started before assignment"],
      [2, "Invalid section (must end with ])"],
      [3, "Empty section name"],
      [4, "Invalid section (must end with ])"],
      [6, "Unexpected continuation line"],
      [7, "No ':' or '=' found in assignment"],
      [8, "Unexpected continuation line"],
    ]);
    expect(problems("[s]\n= v")).toEqual([[2, "Key cannot be empty"]]);
  });
});

const word = fc.stringMatching(/^[a-z][a-z0-9_]{0,8}$/);
const value = fc.stringMatching(/^[a-zA-Z0-9/%;#$.,-]{0,12}$/).filter((text) => text.trim() === text);

property([
  fc.array(
    fc.tuple(word, word, fc.array(value, { minLength: 1, maxLength: 3 }), fc.constantFrom("=", " = ", ": ", ":")),
    { maxLength: 10 },
  ),
])("values written in the dialect are read unchanged", (entries) => {
  const text = entries.map(([section, name, [first, ...rest], mark]) => {
    const continued = rest.filter((line) => line !== "").map((line) => `\n  ${line}`);
    return `[${section}]\n${name}${mark}${first}${continued.join("")}\n`;
  });
  const expected = entries.map(([section, name, [first, ...rest]]) => [
    section,
    name,
    [first, ...rest.filter((line) => line !== "")].join("\n"),
  ]);
  expect(values(text.join("\n"))).toEqual(expected);
});

property([fc.string({ unit: "grapheme" })])("any text is read or reported, without an exception", (text) => {
  const file = parseIni(text, "f");
  const lines = text.split(/\r\n|\r|\n/).length;
  for (const { line } of [...file.assignments, ...file.sections, ...file.problems]) {
    expect(line).toBeGreaterThanOrEqual(1);
    expect(line).toBeLessThanOrEqual(lines);
  }
});
