/** `unreached`: it cannot be told, since what it needs failed in another rule already. */
export type CaseOutcome = "passed" | "failed" | "skipped" | "waived" | "unreached";

/** How a driver kept one rule. */
export interface CaseResult {
  readonly code: string;
  readonly section: string;
  readonly rule: string;
  readonly outcome: CaseOutcome;
  /** Why it failed, was skipped or waived. */
  readonly message?: string;
  /** How long it took, where that was measured. */
  readonly milliseconds?: number;
}

/** Machine-readable as it is: JSON. */
export interface DriverReport {
  readonly driver: string;
  readonly apiVersion: string;
  readonly results: readonly CaseResult[];
}

export function countOf({ results }: DriverReport, outcome: CaseOutcome): number {
  return results.filter((result) => result.outcome === outcome).length;
}

/** `24 passed, 1 failed, 3 skipped, 0 waived`, and how many rules were not reached, if any. */
export function summaryOf(report: DriverReport): string {
  const counts = (["passed", "failed", "skipped", "waived"] as const).map(
    (outcome) => `${countOf(report, outcome)} ${outcome}`,
  );
  const unreached = countOf(report, "unreached");
  return [...counts, ...(unreached === 0 ? [] : [`${unreached} not reached`])].join(", ");
}
