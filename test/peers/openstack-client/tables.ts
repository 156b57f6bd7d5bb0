/** A table as the clients print it. */
export interface Table {
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

/**
 * Parses the first table of an output; returns undefined if there is none. A cell of several lines becomes one text
 * with line breaks.
 */
export function parseTable(output: string): Table | undefined {
  const lines = output.split("\n").filter((line) => /^[|+]/.test(line));
  const [rule = "", names, , ...rest] = lines;
  if (!rule.startsWith("+") || names === undefined) {
    return undefined;
  }
  const edges = [...rule.matchAll(/\+/g)].map(({ index }) => index);
  const cells = (line: string): string[] =>
    edges.slice(1).map((edge, column) => line.slice((edges[column] ?? 0) + 1, edge).trim());
  const header = cells(names);
  const rows: string[][] = [];
  for (const line of rest.slice(
    0,
    rest.findIndex((each) => each.startsWith("+")),
  )) {
    const row = cells(line);
    const before = rows.at(-1);
    // Only the first line of a row has text in the first column.
    if (row[0] === "" && before) {
      rows.splice(
        -1,
        1,
        before.map((cell, column) => join(cell, row[column])),
      );
    } else {
      rows.push(row);
    }
  }
  return { header, rows };
}

const join = (cell: string, more = ""): string => (more === "" ? cell : `${cell}\n${more}`);

/** Returns the kind of a cell without its value, since ids and times of two clouds differ. */
export function kindOf(cell: string): string {
  if (cell === "") {
    return "nothing";
  }
  if (cell === "None") {
    return "None";
  }
  if (/^(True|False)$/.test(cell)) {
    return "flag";
  }
  if (/^-?\d+(\.\d+)?$/.test(cell)) {
    return "number";
  }
  if (/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(cell)) {
    return "uuid";
  }
  if (/^[0-9a-f]{32,}$/.test(cell)) {
    return "id";
  }
  if (/^\d{4}-\d\d-\d\dT[\d:]+(\.\d{6}|Z|\+0000)?$/.test(cell)) {
    return `time${cell.slice(19).replace(/\d{6}/, "6")}`;
  }
  if (/^[{[]/.test(cell)) {
    return "structure";
  }
  return "text";
}

/** Parses a value printed by Python, including Python 2 with its `u` prefixes. Returns undefined for other text. */
export function pythonValue(text: string): unknown {
  const json = text
    .replaceAll(/\bu'/g, "'")
    .replaceAll("'", '"')
    .replaceAll(/\bNone\b/g, "null")
    .replaceAll(/\bTrue\b/g, "true")
    .replaceAll(/\bFalse\b/g, "false");
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}
