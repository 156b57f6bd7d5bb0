import Table from "cli-table3";
import { acceptedAs } from "./accepted.js";
import type { MutantResult } from "./trial.js";

/** The min percentage of killed mutants, not counting accepted ones. */
export const THRESHOLD = 85;

interface Score {
  readonly killed: number;
  readonly survived: number;
  readonly accepted: number;
  /** Per cent. */
  readonly score: number;
}

interface Survivor {
  readonly place: string;
  readonly operator: string;
  readonly change: string;
  readonly reached: boolean;
}

export interface Report {
  readonly files: Readonly<Record<string, Score>>;
  readonly total: Score;
  readonly survivors: readonly Survivor[];
  /** Tests that fail without any mutant; they were not used. */
  readonly red: readonly string[];
}

export function report(results: readonly MutantResult[], red: Iterable<string>): Report {
  const paths = [...new Set(results.map(({ mutant }) => mutant.path))].sort();
  return {
    files: Object.fromEntries(
      paths.map((path) => [path, scoreOf(results.filter(({ mutant }) => mutant.path === path))]),
    ),
    total: scoreOf(results),
    survivors: results.filter(isSurvivor).map(({ mutant, reached }) => ({
      place: `${mutant.path}:${mutant.line}`,
      operator: mutant.operator,
      change: mutant.change,
      reached,
    })),
    red: [...red],
  };
}

export function print({ files, total, survivors, red }: Report): string {
  const table = new Table({
    head: ["file", "killed", "survived", "accepted", "%"],
    style: { head: [], border: [], compact: true },
  });
  for (const [path, score] of [...Object.entries(files), ["all", total] as const]) {
    table.push([path, score.killed, score.survived, score.accepted, score.score.toFixed(0)]);
  }
  const lines = survivors.map(
    ({ place, operator, change, reached }) =>
      `  ${place}  ${operator}: ${change}${reached ? "" : "  (no test comes here)"}`,
  );
  return [
    ...(lines.length > 0 ? ["survivors:", ...lines] : []),
    ...(red.length > 0 ? ["fail without any mutant:", ...red.map((test) => `  ${test}`)] : []),
    table.toString(),
  ].join("\n");
}

function isSurvivor({ mutant, killedBy }: MutantResult): boolean {
  return killedBy === null && !acceptedAs(mutant);
}

function scoreOf(results: readonly MutantResult[]): Score {
  const killed = results.filter(({ killedBy }) => killedBy !== null).length;
  const survived = results.filter(isSurvivor).length;
  const evaluated = killed + survived;
  return {
    killed,
    survived,
    accepted: results.length - evaluated,
    score: evaluated === 0 ? 100 : (100 * killed) / evaluated,
  };
}
