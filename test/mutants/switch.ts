/** The key of the symbol under which mutated sources find the switch in the global object. */
export const SWITCH = "compute-agent.mutants";

/** Activates one mutant, and records which mutants are reached while none is active. */
export class MutantSwitch {
  /** 0: none. */
  active = 0;
  reached = new Set<number>();

  isOn(id: number): boolean {
    if (this.active === 0) {
      this.reached.add(id);
    }
    return id === this.active;
  }

  /** Returns the mutants that were reached since the last call. */
  take(): ReadonlySet<number> {
    const { reached } = this;
    this.reached = new Set();
    return reached;
  }
}

/** Returns the switch of this thread; creates it at first use. */
export function installSwitch(): MutantSwitch {
  const host = globalThis as unknown as Record<symbol, MutantSwitch | undefined>;
  const installed = host[Symbol.for(SWITCH)] ?? new MutantSwitch();
  host[Symbol.for(SWITCH)] = installed;
  return installed;
}
