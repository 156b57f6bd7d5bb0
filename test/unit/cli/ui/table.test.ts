import { describe, expect, it } from "vitest";
import { type Column, renderTable } from "../../../../src/cli/ui/table.js";

interface Row {
  readonly host: string;
  readonly state: string;
  readonly text: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { title: "Host name", value: ({ host }) => host },
  { title: "State", value: ({ state }) => state, align: "right" },
  { title: "Text", value: ({ text }) => text, wraps: true },
];
const ROWS: readonly Row[] = [{ host: "devstack1", state: "forced down", text: "one two three\nfour" }];

const lines = (width: number) => renderTable(COLUMNS, ROWS, width).split("\n");

describe("a table", () => {
  it("escapes control characters", () => {
    const row = { host: "dev\u001b[2Jstack1", state: "up\r", text: "a\u009b1A" };
    expect(renderTable(COLUMNS, [row], 80)).toMatch(/^[ -~\n]*dev\\u001b\[2Jstack1 [ -~\n]*$/);
  });

  it("is as wide as its cells if there is room", () => {
    expect(lines(80)).toEqual([
      "+-----------+-------------+---------------+",
      "| Host name |       State | Text          |",
      "+-----------+-------------+---------------+",
      "| devstack1 | forced down | one two three |",
      "|           |             | four          |",
      "+-----------+-------------+---------------+",
    ]);
  });

  it("first wraps the columns marked for wrapping, at spaces", () => {
    expect(lines(37)).toEqual([
      "+-----------+-------------+---------+",
      "| Host name |       State | Text    |",
      "+-----------+-------------+---------+",
      "| devstack1 | forced down | one two |",
      "|           |             | three   |",
      "|           |             | four    |",
      "+-----------+-------------+---------+",
    ]);
  });

  it("then wraps all columns, as long as no word has to be cut", () => {
    expect(lines(30)).toEqual([
      "+-----------+--------+-------+",
      "| Host name |  State | Text  |",
      "+-----------+--------+-------+",
      "| devstack1 | forced | one   |",
      "|           |   down | two   |",
      "|           |        | three |",
      "|           |        | four  |",
      "+-----------+--------+-------+",
    ]);
  });

  it("then cuts words, down to a width of six", () => {
    for (const width of [27, 10]) {
      expect(lines(width).slice(0, 4)).toEqual([
        "+--------+--------+-------+",
        "| Host   |  State | Text  |",
        "| name   |        |       |",
        "+--------+--------+-------+",
      ]);
    }
  });
});

it("renders a long table like a short one", () => {
  const columns = [
    { title: "Name", value: ({ name }: { name: string }) => name },
    { title: "N", value: ({ n }: { n: number }) => String(n), align: "right" as const },
  ];
  const rows = Array.from({ length: 250 }, (_, n) => ({ name: n % 50 === 0 ? "two\nlines" : "one", n }));
  const lines = renderTable(columns, rows, 80).split("\n");
  const border = "+-------+-----+";
  expect([lines[0], lines[2], lines.at(-1)]).toEqual([border, border, border]);
  expect(lines.filter((line) => line === border)).toHaveLength(3);
  expect(lines).toHaveLength(4 + 255);
  expect(lines[3]).toBe("| two   |   0 |");
  expect(lines.at(-2)).toBe("| one   | 249 |");
});
