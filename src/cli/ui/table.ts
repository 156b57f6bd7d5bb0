import Table from "cli-table3";
import { terminalText } from "../../runtime/error-messages.js";

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
  const aligned = columns.map((column) => column.align ?? "left");
  const wrapped = (rowCells: readonly string[]) =>
    rowCells.map((text, index) => wrapWords(text, widths[index] ?? text.length));
  const piece = (head: readonly string[], body: readonly (readonly string[])[]): string[] => {
    const table = new Table({
      head: wrapped(head),
      colWidths: widths.map((inner) => inner + 2),
      colAligns: aligned,
      wordWrap: true,
      wrapOnWordBoundary: false,
      style: { head: [], border: [], compact: true },
      chars: ASCII_BORDERS,
    });
    table.push(...body.map(wrapped));
    return table.toString().split("\n");
  };
  const titles = columns.map((column) => column.title);
  const lines = piece(titles, cells.slice(0, 1));
  const border = lines.pop() ?? "";
  for (const row of cells.slice(1)) {
    const isPlain = row.every((text, index) => PLAIN.test(text) && text.length <= (widths[index] ?? 0));
    // The borders of a piece are those of the whole.
    lines.push(...(isPlain ? [lineOf(row, widths, aligned)] : piece([], [row]).slice(1, -1)));
  }
  return [...lines, border].join("\n");
}

/** Every character is as wide as the others, and nothing has to be broken. */
const PLAIN = /^[\x20-\x7e]*$/;

/** What the library makes of a row that is plain, which takes it a hundred times as long. */
function lineOf(row: readonly string[], widths: readonly number[], aligned: readonly ("left" | "right")[]): string {
  const padded = row.map((text, index) => {
    const width = widths[index] ?? text.length;
    return aligned[index] === "right" ? text.padStart(width) : text.padEnd(width);
  });
  return `| ${padded.join(" | ")} |`;
}

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
