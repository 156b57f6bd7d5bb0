import type { Agent } from "../../src/agent/lifecycle/agent.js";
import type { FaultSet } from "../../src/faults/fault-set.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";

/** A started agent that has not ended. */
export interface RunningAgent {
  readonly agent: Agent;
  readonly runtime: VirtualRuntime;
  readonly faults: FaultSet;
}

/** Resolves when the process is killed, because its own promises never resolve then. */
export function killed(runtime: VirtualRuntime): Promise<null> {
  return new Promise((resolve) => {
    runtime.onKill(() => resolve(null));
  });
}
