/** The symbol of the global object under which woven sources find the switch. */
export const SWITCH = "compute-agent.mutants";

/** Says which mutant is on, and remembers which were reached while none was. */
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

  /** What was reached since the last call. */
  take(): ReadonlySet<number> {
    const { reached } = this;
    this.reached = new Set();
    return reached;
  }
}

/** The one switch of this thread. */
export function installSwitch(): MutantSwitch {
  const host = globalThis as unknown as Record<symbol, MutantSwitch | undefined>;
  const installed = host[Symbol.for(SWITCH)] ?? new MutantSwitch();
  host[Symbol.for(SWITCH)] = installed;
  return installed;
}
