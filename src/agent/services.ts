import type { AgentView } from "./context.js";
import type { Operations } from "./operations/operations.js";
import type { ResourceTracker } from "./tracker/resource-tracker.js";

/** The parts of a started agent. */
export interface AgentServices extends AgentView {
  readonly tracker: ResourceTracker;
  readonly operations: Operations;
}
