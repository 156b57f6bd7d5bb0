import type { QuirkName } from "../config/quirks.js";
import type { Logger } from "../runtime/logger.js";
import type { AgentContext, Operations, ResourceTracker } from "./contracts.js";
import type { AgentMetrics } from "./metrics.js";
import type { IdentityFile } from "./startup/identity-file.js";

/** What decisions are made from: reading needs no more, so that a dry run can be given doors that only read. */
export interface AgentView extends AgentContext {
  readonly identity: IdentityFile;
  readonly logger: Logger;
}

/** What a started agent is made of. */
export interface AgentParts extends AgentView {
  readonly tracker: ResourceTracker;
  readonly operations: Operations;
  readonly metrics: AgentMetrics;
}

export function hasQuirk(context: Pick<AgentContext, "config">, quirk: QuirkName): boolean {
  return context.config.workarounds.upstreamQuirks.has(quirk);
}

export const requestId = (context: Pick<AgentContext, "runtime">): string => `req-${context.runtime.random.uuid()}`;
