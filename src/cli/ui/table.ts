import Table from "cli-table3";

export interface Column<Row> {
  readonly title: string;
  readonly value: (row: Row) => string;
  /** Default left. */
  readonly align?: "left" | "right";
}

/** Rows as a table that fits `width` columns: cells wrap, plain ASCII borders as OpenStack's clients draw them. */
export const renderTable = <Row>(columns: readonly Column<Row>[], rows: readonly Row[], width: number): string => {
  const cells = rows.map((row) => columns.map((column) => column.value(row)));
  const natural = columns.map((column, index) =>
    Math.max(column.title.length, ...cells.map((row) => longestLine(row[index] ?? ""))),
  );
  const table = new Table({
    head: columns.map((column) => column.title),
    colWidths: shrink(natural, width - (3 * columns.length + 1)).map((inner) => inner + 2),
    colAligns: columns.map((column) => column.align ?? "left"),
    wordWrap: true,
    wrapOnWordBoundary: false,
    style: { head: [], border: [], compact: true },
    chars: ASCII_BORDERS,
  });
  table.push(...cells);
  return table.toString();
};

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

/** Takes from the widest column until the sum fits; none goes below 4. */
const shrink = (natural: readonly number[], available: number): number[] => {
  const widths = [...natural];
  let over = widths.reduce((sum, width) => sum + width, 0) - available;
  while (over > 0) {
    const widest = widths.indexOf(Math.max(...widths));
    const current = widths[widest] ?? 0;
    if (current <= 4) break;
    widths[widest] = current - 1;
    over -= 1;
  }
  return widths;
};
