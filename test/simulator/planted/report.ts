import type { Sighting } from "./hunt.js";

/** The result of a hunt. */
export interface PlantedResult {
  readonly name: string;
  readonly what: string;
  readonly known: boolean;
  readonly seeds: number;
  readonly virtualHours: number;
  /** Processor time of all processes. */
  readonly seconds: number;
  readonly found: Sighting | null;
  readonly own: readonly Sighting[];
}

const WIDTH = 80;
const COLUMNS = [10, 7, 6, 6, 7] as const;

/** Formats a result as a line that fits a terminal. */
export function row({ name, seeds, virtualHours, seconds, found }: PlantedResult): string {
  const cells = [name, found === null ? "-" : found.seed, seeds, virtualHours.toFixed(1), seconds.toFixed(1)];
  return line(cells.map(String), found === null ? "not found" : `${found.rule}: ${found.what}`);
}

export const HEADER = line(["bug", "seed", "seeds", "hours", "cpu s"], "found by");

function line(cells: readonly string[], last: string): string {
  const [name = "", ...numbers] = cells.map((cell, column) =>
    column === 0 ? cell.padEnd(COLUMNS[0]) : cell.padStart(COLUMNS[column] ?? 0),
  );
  return `${name}${numbers.join("")}  ${last.replace(/\s+/g, " ")}`.slice(0, WIDTH).trimEnd();
}

export function summary(results: readonly PlantedResult[]): string {
  const lines = [
    ...([true, false] as const).map((known) => {
      const all = results.filter((result) => result.known === known);
      const found = all.filter((result) => result.found !== null);
      return `${found.length} of ${all.length} ${known ? "known bugs" : "mutants"} found`;
    }),
  ];
  for (const { name, what, found } of results) {
    if (found === null) {
      lines.push(`  not found: ${name}, ${what}`);
    }
  }
  for (const { own } of results) {
    lines.push(...own.map(({ seed, rule, what }) => `  seed ${seed} fails without any bug: ${rule}: ${what}`));
  }
  return lines.join("\n");
}

/** Checks that all known bugs were found, and that no violation occurs without its bug. */
export function passed(results: readonly PlantedResult[]): boolean {
  return results.every(({ known, found, own }) => (!known || found !== null) && own.length === 0);
}
