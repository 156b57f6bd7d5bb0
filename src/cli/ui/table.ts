import Table from "cli-table3";
import { terminalText } from "../../runtime/error-messages.js";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Default left. */
  readonly align?: "left" | "right";
  /** Shrinks first if the terminal is narrow. */
  readonly wraps?: true;
}

/** Renders rows as a table of at most `width` columns. Cells wrap; borders are plain ASCII, as in OpenStack's clients. */
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
    // Without the borders of the piece, which the table already has.
    lines.push(...(isPlain ? [lineOf(row, widths, aligned)] : piece([], [row]).slice(1, -1)));
  }
  return [...lines, border].join("\n");
}

/** Matches text of single-width characters, which needs no wrapping. */
const PLAIN = /^[\x20-\x7e]*$/;

/** Renders a plain row as the library does, but a hundred times as fast. */
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

/** Breaks lines at spaces; a longer word is not broken. */
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
 * Shrinks the widest column until the sum fits. Shrinks columns that wrap first, then all, as far as no word is cut. If that
 * is not enough, cuts words in the same order, to a minimum of 6.
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
