import type { Clock, Timers } from "../runtime/time.js";
import { type ChangingFaults, type FaultAction, FaultInjected, type FaultRule, isTimed } from "./faults.js";

/** A fault rule that is set. */
export interface SetFault extends FaultRule {
  readonly id: string;
  /** The time at which it was set, in milliseconds since the epoch; a partition's duration starts then. */
  readonly setAt: number;
  /** How often it has applied. */
  readonly used: number;
}

export interface FaultSetDeps {
  readonly clock: Clock;
  readonly timers: Timers;
}

/** The faults of one process. */
export class FaultSet implements ChangingFaults {
  readonly #deps: FaultSetDeps;
  readonly #listeners = new Set<() => void>();
  #faults: readonly SetFault[] = [];
  #sequence = 0;

  constructor(deps: FaultSetDeps) {
    this.#deps = deps;
  }

  /** The faults that may still apply. */
  get faults(): readonly SetFault[] {
    return this.#faults.filter((fault) => isLive(fault, this.#deps.clock.now()));
  }

  /** All faults, including those that are used up. */
  get known(): readonly SetFault[] {
    return this.#faults;
  }

  /** Sets a rule, replacing that of the same point. Returns its id. */
  set(rule: FaultRule): string {
    this.#sequence += 1;
    const id = `${this.#deps.clock.now()}-${this.#sequence}`;
    const others = this.#faults.filter(({ point }) => point !== rule.point);
    this.replace([...others, { ...rule, id, setAt: this.#deps.clock.now(), used: 0 }]);
    return id;
  }

  /** Clears the fault of a point. Default: all faults. */
  clear(point?: string): void {
    this.replace(point === undefined ? [] : this.#faults.filter((fault) => fault.point !== point));
  }

  /** Replaces all faults; known use counts are retained. */
  replace(faults: readonly SetFault[]): void {
    const known = new Map(this.#faults.map(({ id, used }) => [id, used]));
    this.#faults = faults.map((fault) => ({ ...fault, used: Math.max(fault.used, known.get(fault.id) ?? 0) }));
    this.#changed();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  peek(point: string): FaultAction | undefined {
    return this.#find(point)?.action;
  }

  decide(point: string): FaultAction | undefined {
    const found = this.#find(point);
    if (!found) {
      return undefined;
    }
    if (found.times !== null) {
      this.#faults = this.#faults.map((fault) => (fault === found ? { ...fault, used: fault.used + 1 } : fault));
      this.#changed();
    }
    return found.action;
  }

  async hit(point: string, signal?: AbortSignal): Promise<void> {
    const { id } = this.#find(point) ?? {};
    const action = this.decide(point);
    if (id === undefined || !action) {
      return;
    }
    switch (action.kind) {
      case "fail":
        throw new FaultInjected(point, action.error);
      case "slow":
        return this.#deps.timers.sleep(action.milliseconds, signal);
      case "hang":
        return this.#hang(id, action.milliseconds, signal);
      default:
        // The other kinds have no effect at a point alone.
        return;
    }
  }

  /** Ends early when the fault is cleared. */
  async #hang(id: string, milliseconds: number | null, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const end = (settle: () => void) => () => {
        cancel();
        stop();
        signal?.removeEventListener("abort", aborted);
        settle();
      };
      const over = end(resolve);
      const aborted = end(() => reject(signal?.reason));
      const cancel = milliseconds === null ? () => {} : this.#deps.timers.after(milliseconds, over);
      const stop = this.onChange(() => {
        if (!this.#faults.some((fault) => fault.id === id)) {
          over();
        }
      });
      signal?.addEventListener("abort", aborted, { once: true });
    });
  }

  #find(point: string): SetFault | undefined {
    return this.#faults.find((fault) => fault.point === point && isLive(fault, this.#deps.clock.now()));
  }

  #changed(): void {
    for (const listener of [...this.#listeners]) {
      listener();
    }
  }
}

/** Returns whether the fault may still apply. */
export function isLive({ action, times, used, setAt }: Omit<SetFault, "id" | "point">, now: number): boolean {
  if (isTimed(action) && action.milliseconds !== null) {
    return now < setAt + action.milliseconds;
  }
  return times === null || used < times;
}
