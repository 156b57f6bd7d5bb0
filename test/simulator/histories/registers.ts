import type { Outcome } from "../../chaos/oracle/requests.js";
import type { Violation } from "../../chaos/violation.js";
import { type Act, firstUnexplained } from "./linearizable.js";

/** What a register holds, as JSON; null: nobody has looked yet. */
type Content = string | null;

/** Things that have one value at a time, and who wrote and read them when: a server's name, whether a service is disabled. */
export class Registers {
  readonly #acts = new Map<
    string,
    { readonly subject: string; readonly name: string; readonly acts: Act<Content>[] }
  >();

  /** What was refused was not done. */
  wrote(subject: string, name: string, value: unknown, { invoked, completed, outcome }: Moments): void {
    if (outcome !== "refused") {
      const content = JSON.stringify(value);
      this.#of(subject, name).push({
        invoked,
        completed: outcome === "unknown" ? Number.POSITIVE_INFINITY : completed,
        apply: () => content,
        what: `was set to ${content}`,
      });
    }
  }

  read(subject: string, name: string, value: unknown, { invoked, completed }: Omit<Moments, "outcome">): void {
    const content = JSON.stringify(value);
    this.#of(subject, name).push({
      invoked,
      completed,
      apply: (state) => (state === null || state === content ? content : undefined),
      what: `was found to be ${content}`,
    });
  }

  /** Values that were read, and that no order of the writes explains. */
  violations(): readonly Violation[] {
    return [...this.#acts.values()].flatMap(({ subject, name, acts }) => {
      const wrong = firstUnexplained<Content>(null, acts);
      const recentActs = acts
        .filter((act) => wrong !== null && act.invoked <= wrong.completed)
        .slice(-MAX_REPORTED_ACTS);
      return wrong === null
        ? []
        : [
            {
              subject,
              what: `its ${name} ${wrong.what}, although it ${recentActs.map(({ what }) => what).join(", ")}`,
            },
          ];
    });
  }

  #of(subject: string, name: string): Act<Content>[] {
    const key = `${subject} ${name}`;
    const known = this.#acts.get(key) ?? { subject, name, acts: [] };
    this.#acts.set(key, known);
    return known.acts;
  }
}

export interface Moments {
  readonly invoked: number;
  readonly completed: number;
  readonly outcome: Outcome;
}

/** Acts that a violation tells, the last ones. */
const MAX_REPORTED_ACTS = 8;
