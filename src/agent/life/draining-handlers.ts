import type { AgentMethod } from "../../conductor/methods/agent.js";
import type { AgentHandlers } from "../../conductor/port.js";

/** What the other host of a move asks in its middle, and what stops one (Nova's topic `compute-alt`). */
const TAKEN_WHILE_DRAINING = [
  "finish_resize",
  "post_live_migration_at_destination",
  "rollback_live_migration_at_destination",
  "migration_ended",
  "live_migration_abort",
  "live_migration_force_complete",
  "check_instance_shared_storage",
] as const satisfies readonly AgentMethod[];

/** What an agent that stops still takes (spec 2.8): it begins nothing, and ends what it has begun. */
export function drainingHandlers(handlers: AgentHandlers): Partial<AgentHandlers> {
  return Object.fromEntries(TAKEN_WHILE_DRAINING.map((method) => [method, handlers[method]]));
}
