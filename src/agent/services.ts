import type { AgentView } from "./context.js";
import type { AgentMetrics } from "./metrics/metrics.js";
import type { Operations } from "./operations/contract.js";
import type { ResourceTracker } from "./tracker/contract.js";

/** What a started agent is made of. */
export interface AgentServices extends AgentView {
  readonly tracker: ResourceTracker;
  readonly operations: Operations;
  readonly metrics: AgentMetrics;
}
