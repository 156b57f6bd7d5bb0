import { kindOf, parseTable } from "./tables.js";

/**
 * Returns the structure of an output without its values: columns, fields, and their kinds.
 * @param inFlux fields that may be in any state
 */
export function shapeOf(output: string, inFlux: readonly string[] = []): unknown {
  const table = parseTable(output);
  if (table) {
    const { header, rows } = table;
    return header.join() === "Field,Value"
      ? Object.fromEntries(
          rows.map(([field = "", value = ""]) => [field, inFlux.includes(field) ? "any" : kindOf(value)]),
        )
      : Object.fromEntries(header.map((name, column) => [name, kindsOf(rows.map((row) => row[column] ?? ""))]));
  }
  if (/^\s*[[{]/.test(output)) {
    return jsonShape(JSON.parse(output));
  }
  return output.trim().split("\n").map(kindOf);
}

/** Returns the kinds of a column's cells; lists may differ in length. */
const kindsOf = (cells: readonly string[]): readonly string[] => [...new Set(cells.map(kindOf))].toSorted();

function jsonShape(value: unknown): unknown {
  if (Array.isArray(value)) {
    return [...new Set(value.map((item) => JSON.stringify(jsonShape(item))))].toSorted();
  }
  if (typeof value !== "object" || value === null) {
    return value === null ? "None" : kindOf(String(value));
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonShape(item)]));
}

/** Removes the parts of an error message that differ each time. */
export function plainError(text: string): string {
  return text
    .replaceAll(/http:\/\/[\d.:]+(\/compute|\/placement|\/identity)?/g, "<url>")
    .replaceAll(/req-[0-9a-f-]{36}/g, "<request>")
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>")
    .trim();
}
