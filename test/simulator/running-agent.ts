import type { Agent } from "../../src/agent/lifecycle/agent.js";
import type { FaultSet } from "../../src/faults/fault-set.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";

/** An agent that was started, until it ends. */
export interface RunningAgent {
  readonly agent: Agent;
  readonly runtime: VirtualRuntime;
  readonly faults: FaultSet;
}

/** Resolves when the process is killed: what it waits for never comes then. */
export function killed(runtime: VirtualRuntime): Promise<null> {
  return new Promise((resolve) => {
    runtime.onKill(() => resolve(null));
  });
}
