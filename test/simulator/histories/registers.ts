import type { Outcome } from "../../chaos/oracle/requests.js";
import type { Violation } from "../../chaos/violation.js";
import { type Act, firstUnexplained } from "./linearizable.js";

/** The value of a register as JSON; null: not read yet. */
type Content = string | null;

/** Single values, such as a server's name or a service's `disabled`, with all their writes and reads. */
export class Registers {
  readonly #acts = new Map<
    string,
    { readonly subject: string; readonly name: string; readonly acts: Act<Content>[] }
  >();

  /** Records a write, unless it was rejected. */
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

  /** Returns the reads that no order of the writes explains. */
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

/** The max number of operations in a violation; the last ones are reported. */
const MAX_REPORTED_ACTS = 8;
