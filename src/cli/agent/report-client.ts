import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import type { Conductor } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import { placementAccess } from "../../placement-client/access/configured-access.js";
import { SharedPlacementState } from "../../placement-client/client-context.js";
import { ReportClient } from "../../placement-client/report-client.js";
import { retryingHttp } from "../../placement-client/retries.js";
import type { Runtime } from "../../runtime/runtime.js";

/**
 * The agent's Placement client, as nova.conf has it.
 * @param known what the process knows of that Placement; default: nothing
 */
export function reportClient(
  config: NovaConfig,
  runtime: Runtime,
  conductor: Conductor,
  metrics: AgentMetrics,
  known = new SharedPlacementState(),
): ReportClient {
  const http = retryingHttp(runtime.http, runtime.timers, config.placement);
  return new ReportClient({
    http,
    access: placementAccess(config, { ...runtime, http }, conductor, known.placement),
    known: known.names,
    config: {
      associationRefresh: config.compute.resourceProviderAssociationRefresh,
      timeout: config.placement.timeout * 1000,
      sharingProvidersMaxUuidsPerRequest: config.compute.sharingProvidersMaxUuidsPerRequest,
    },
    clock: runtime.clock,
    timers: runtime.timers,
    random: runtime.random,
    logger: runtime.logger,
    observe: (event) => metrics.placementRequest(event),
  });
}
