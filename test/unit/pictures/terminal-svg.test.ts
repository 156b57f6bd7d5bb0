import { XMLValidator } from "fast-xml-parser";
import { expect, it } from "vitest";
import { renderTerminal } from "../../pictures/terminal-svg.js";

const COMMANDS = [
  { command: "echo 'a <b> & c'", output: ["a <b> & c"], seconds: 0.1 },
  { command: "seq 40", output: Array.from({ length: 40 }, (_, index) => String(index + 1)), seconds: 7 },
];

it("a recording is valid SVG with each line in order, and scrolls to the last one", () => {
  const svg = renderTerminal("Numbers & letters", COMMANDS, 80);
  expect(XMLValidator.validate(svg)).toBe(true);
  const lines = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = ""]) => text.replace(/<[^>]*>/g, ""));
  expect(lines.slice(0, 3)).toEqual(["$ echo 'a &lt;b&gt; &amp; c'", "a &lt;b&gt; &amp; c", "$ seq 40"]);
  expect(lines.at(-1)).toBe("40");
  // 43 lines in 27 rows of 18 pixels.
  expect(svg).toContain(`.s{animation-name:s;transform:translateY(-${16 * 18}px)}`);
});

it("a recording is the same for durations that differ by a few milliseconds", () => {
  const slower = COMMANDS.map((each) => ({ ...each, seconds: each.seconds + 0.03 }));
  expect(renderTerminal("t", slower, 80)).toBe(renderTerminal("t", COMMANDS, 80));
});
