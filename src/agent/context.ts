import type { HostSession } from "../conductor-client/port.js";
import type { NovaConfig } from "../config/nova-config.js";
import type { QuirkName } from "../config/quirks.js";
import type { ReportClient } from "../placement-client/report-client.js";
import type { Logger, Runtime } from "../runtime/runtime.js";
import type { DriverHost } from "../virt/driver-host.js";
import type { GlanceClient } from "./glance-client.js";
import type { HostPorts } from "./host-ports.js";
import type { DriverRecord, IdentityFile } from "./identity-file.js";
import type { AgentMetrics } from "./metrics/metrics.js";
import type { HostVolumes } from "./volumes/host-volumes.js";

/** The services that every part of one host's agent uses. Created once, when the agent starts. */
export interface AgentContext {
  readonly host: string;
  readonly config: NovaConfig;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly conductor: HostSession;
  readonly driver: DriverHost;
  readonly placement: ReportClient;
  readonly images: Pick<GlanceClient, "remove" | "removeUnfinished">;
  readonly ports: HostPorts;
  readonly volumes: HostVolumes;
  readonly metrics: AgentMetrics;
  /** Reads or creates the host's stable uuid (spec 2.3). */
  readonly localNodeUuid: () => Promise<string>;
}

/** The inputs of decisions. They only read, so that a dry run can pass read-only interfaces. */
export interface AgentView extends AgentContext {
  readonly identity: IdentityFile;
  readonly driverRecord: DriverRecord;
  /** `--change-driver` (spec 2.4 g). */
  readonly changesDriver: boolean;
}

/** The phases of an agent's lifetime (spec 2.1, 2.8). */
export type AgentState =
  | "connecting"
  | "starting"
  | "guarding"
  | "cleaning"
  | "initializing"
  | "registering"
  | "tracking"
  | "serving"
  | "draining"
  | "stopped"
  | "failed";

export function hasQuirk(context: Pick<AgentContext, "config">, quirk: QuirkName): boolean {
  return context.config.workarounds.upstreamQuirks.has(quirk);
}

export const requestId = (context: Pick<AgentContext, "runtime">): string => `req-${context.runtime.random.uuid()}`;
