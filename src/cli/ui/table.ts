import Table from "cli-table3";
import { terminalText } from "../../runtime/terminal-text.js";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Default left. */
  readonly align?: "left" | "right";
  /** Gives way first where the terminal is narrow. */
  readonly wraps?: true;
}

/** Rows as a table that fits `width` columns: cells wrap, plain ASCII borders as OpenStack's clients draw them. */
export function renderTable<Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string {
  const cells = rows.map((row) => columns.map((column) => terminalText(column.value(row))));
  const natural = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((row) => longestLine(row[index] ?? ""))),
  );
  const words = columns.map((column, index) =>
    Math.max(...[column.title, ...cells.map((row) => row[index] ?? "")].map(longestWord)),
  );
  const widths = shrink(natural, words, width - (3 * columns.length + 1), (index) => columns[index]?.wraps === true);
  const wrapped = (texts: readonly string[]) =>
    texts.map((text, index) => wrapWords(text, widths[index] ?? text.length));
  const piece = (from: number): string[] => {
    const table = new Table({
      head: from === 0 ? wrapped(columns.map((column) => column.title)) : [],
      colWidths: widths.map((inner) => inner + 2),
      colAligns: columns.map((column) => column.align ?? "left"),
      wordWrap: true,
      wrapOnWordBoundary: false,
      style: { head: [], border: [], compact: true },
      chars: ASCII_BORDERS,
    });
    table.push(...cells.slice(from, from + ROWS).map(wrapped));
    return table.toString().split("\n");
  };
  const lines = piece(0);
  for (let from = ROWS; from < cells.length; from += ROWS) {
    // The lower border of what is above is the upper one of what follows.
    lines.pop();
    lines.push(...piece(from).slice(1));
  }
  return lines.join("\n");
}

/** Rows that are drawn at a time: the library compares each with all the others. */
const ROWS = 100;

const ASCII_BORDERS = {
  top: "-",
  "top-mid": "+",
  "top-left": "+",
  "top-right": "+",
  bottom: "-",
  "bottom-mid": "+",
  "bottom-left": "+",
  "bottom-right": "+",
  left: "|",
  "left-mid": "+",
  mid: "-",
  "mid-mid": "+",
  right: "|",
  "right-mid": "+",
  middle: "|",
};

const longestLine = (text: string): number => Math.max(0, ...text.split("\n").map((line) => line.length));

const longestWord = (text: string): number => Math.max(0, ...text.split(/\s/).map((word) => word.length));

/** Breaks lines at spaces; a word that is too long is left to be cut. */
export function wrapWords(text: string, width: number): string {
  return text
    .split("\n")
    .map((line) =>
      line.length <= width
        ? line
        : line.split(" ").reduce((wrapped, word) => {
            const last = wrapped.slice(wrapped.lastIndexOf("\n") + 1);
            return `${wrapped}${last.length + 1 + word.length <= width ? " " : "\n"}${word}`;
          }),
    )
    .join("\n");
}

/**
 * Takes from the widest column until the sum fits: from those that wrap, then from all, as far as no word is cut; then, in
 * the same order, through words, and none goes below 6.
 */
function shrink(
  natural: readonly number[],
  words: readonly number[],
  available: number,
  wraps: (index: number) => boolean,
): number[] {
  const widths = [...natural];
  let over = widths.reduce((sum, width) => sum + width, 0) - available;
  for (const least of [words, words.map(() => 6)]) {
    for (const eligible of [wraps, () => true]) {
      while (over > 0) {
        const candidates = widths.map((width, index) => (eligible(index) && width > (least[index] ?? 0) ? width : 0));
        const widest = candidates.indexOf(Math.max(...candidates));
        const current = candidates[widest] ?? 0;
        if (current === 0) {
          break;
        }
        widths[widest] = current - 1;
        over -= 1;
      }
    }
  }
  return widths;
}
