import type { SeedResult } from "./seed-result.js";

const HOUR = 3_600_000;

/** The totals of all seeds. */
export class Tally {
  seeds = 0;
  failed = 0;
  virtualTime = 0;
  /** Milliseconds of all processes. */
  busy = 0;
  acknowledged = 0;
  /** Rule → seeds that violated it first. */
  readonly rules = new Map<string, number[]>();

  add({ seed, virtualTime, realTime, acknowledged, breaches }: SeedResult): void {
    this.seeds += 1;
    this.virtualTime += virtualTime;
    this.busy += realTime;
    this.acknowledged += acknowledged;
    const [first] = breaches;
    if (first !== undefined) {
      this.failed += 1;
      this.rules.set(first.rule, [...(this.rules.get(first.rule) ?? []), seed]);
    }
  }

  progress(): string {
    const hours = (this.virtualTime / HOUR).toFixed(1);
    return `${this.seeds} seeds, ${hours} virtual hours, ${this.failed} with a breach`;
  }

  summary(seconds: number): string {
    const perSecond = (this.virtualTime / 1000 / (this.busy / 1000)).toFixed(0);
    const lines = [
      `Simulated ${this.progress()}, ${this.acknowledged} acknowledged operations`,
      `in ${seconds.toFixed(1)} s; ${perSecond} virtual seconds a second and process`,
    ];
    for (const [rule, seeds] of this.rules) {
      const more = seeds.length > 6 ? ` and ${seeds.length - 6} more` : "";
      lines.push(`  ${rule}: seeds ${seeds.slice(0, 6).join(", ")}${more}`);
    }
    return lines.join("\n");
  }
}

/** Formats a failure for users: the violations, the events before, and how to reproduce it. */
export function describeFailure({ seed, breaches, history, file, steps, hash }: SeedResult): string {
  const breachLines = breaches.slice(0, 5).map(({ rule, what }) => `  ${rule}: ${what.slice(0, 600)}`);
  return [
    `Seed ${seed} broke ${breaches.length === 1 ? "a rule" : `${breaches.length} rules`} (${steps} steps, trace ${hash})`,
    ...breachLines,
    "  what was done:",
    ...history.map((line) => `    ${line.slice(0, 200)}`),
    `  again: npm run simulate -- --replay ${file}   (--shrink: with less of it)`,
  ].join("\n");
}
