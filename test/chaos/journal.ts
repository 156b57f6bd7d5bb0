import { appendFileSync } from "node:fs";

/** `done`: acknowledged; `refused`: 4xx; `failed`: 5xx; `unanswered`: connection error or timeout. */
export const OUTCOMES = ["done", "refused", "failed", "unanswered"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A log of all actions in order, written to a file immediately, and grouped by server for the report. */
export class Journal {
  readonly path: string;
  readonly #start = performance.now();
  readonly #counts = new Map<string, Map<Outcome, number>>();
  readonly #histories = new Map<string, string[]>();
  /** Servers whose DELETE was acknowledged. */
  readonly #deleted = new Set<string>();

  constructor(path: string) {
    this.path = path;
  }

  /** @param server adds the note to this server's history */
  note(who: string, what: string, server?: string): void {
    const seconds = ((performance.now() - this.#start) / 1000).toFixed(3).padStart(8);
    const line = `${seconds} ${new Date().toISOString().slice(11, 23)} ${who.padEnd(10)} ${what}`;
    appendFileSync(this.path, `${line}${server === undefined ? "" : ` [${server}]`}\n`);
    if (server !== undefined) {
      this.#histories.set(server, [...this.historyOf(server), line]);
    }
  }

  count(operation: string, outcome: Outcome): void {
    const counts = this.#counts.get(operation) ?? new Map<Outcome, number>();
    this.#counts.set(operation, counts.set(outcome, (counts.get(outcome) ?? 0) + 1));
  }

  deleteAcknowledged(server: string): void {
    this.#deleted.add(server);
  }

  get deleted(): ReadonlySet<string> {
    return this.#deleted;
  }

  historyOf(server: string): readonly string[] {
    return this.#histories.get(server) ?? [];
  }

  /** Counts by operation, sorted by name. */
  get counts(): readonly (readonly [string, ReadonlyMap<Outcome, number>])[] {
    return [...this.#counts].sort(([left], [right]) => left.localeCompare(right));
  }
}
