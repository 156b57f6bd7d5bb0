import { renderTable } from "../../src/cli/ui/table.js";
import { type Journal, OUTCOMES, type Outcome } from "./journal.js";
import { CHECKS } from "./oracle/checks.js";
import type { Settled } from "./settle.js";

const COLUMNS = 80;

/** Renders operations by kind, settle points, and violations with their histories; the last line counts the checks. */
export function report(journal: Journal, points: readonly Settled[], logs: string): string {
  const violations = points.flatMap(({ failed }, index) => failed.map((one) => ({ ...one, point: index + 1 })));
  const messages = violations.map(({ point, check, violation, evidence }) =>
    [
      `violation at settle point ${point} (${check}): ${violation.subject}: ${violation.what}`,
      ...journal.historyOf(violation.subject).map((line) => `    ${line}`),
      ...(evidence === "" ? [] : [`    ${evidence}`]),
    ].join("\n"),
  );
  const failed = points.flatMap(({ failed }) => [...new Set(failed.map(({ check }) => check))]).length;
  const passed = points.length * CHECKS.length - failed;
  return [
    table(journal),
    `${points.length} settle points, at rest after ${points.map(({ seconds }) => seconds.toFixed(1)).join(", ")} s`,
    ...messages,
    ...(violations.length === 0 ? [] : [`logs and state: ${logs}`]),
    `${passed} passed, ${failed} failed`,
  ].join("\n");
}

type Row = readonly [string, ReadonlyMap<Outcome, number>];

function table(journal: Journal): string {
  return renderTable<Row>(
    [
      { title: "operation (~ of the world)", value: ([operation]) => operation },
      ...OUTCOMES.map((outcome) => ({
        title: outcome,
        value: ([, counts]: Row) => String(counts.get(outcome) ?? "-"),
        align: "right" as const,
      })),
    ],
    journal.counts,
    COLUMNS,
  );
}
