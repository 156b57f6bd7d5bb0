import { type AgentMetrics, NO_METRICS } from "../../agent/metrics/metrics.js";
import { serveMetrics } from "../../agent/metrics/metrics-endpoint.js";
import { createMetricsRegistry } from "../../agent/metrics/metrics-registry.js";
import type { ConductorConnection, HostSession } from "../../conductor/port.js";
import type { Runtime } from "../../runtime/runtime.js";

/** What `--metrics-port` asks for. */
export interface MetricsOutlet {
  readonly metrics: AgentMetrics;
  /** The address of the metrics; null: they are not served. */
  readonly url: string | null;
  /** From now on the metrics show the state of these two. */
  watch(connection: ConductorConnection, session: HostSession): void;
  close(): Promise<void>;
}

const NO_OUTLET: MetricsOutlet = {
  metrics: NO_METRICS,
  url: null,
  watch: () => undefined,
  close: async () => undefined,
};

/** @param port undefined: no metrics; 0: any free port. @throws {AddressInUse} */
export async function openMetrics(
  port: number | undefined,
  host: string,
  runtime: Pick<Runtime, "servers">,
): Promise<MetricsOutlet> {
  if (port === undefined) {
    return NO_OUTLET;
  }
  let watched: { readonly connection: ConductorConnection; readonly session: HostSession } | undefined;
  const registry = await createMetricsRegistry({
    leases: () => new Map([[host, watched?.session.leaseHeld ?? false]]),
    conductorConnected: () => watched?.connection.state === "connected",
  });
  const listener = await serveMetrics(runtime.servers, registry, port);
  return {
    metrics: registry.forHost(host),
    url: `${listener.url}/metrics`,
    watch: (connection, session) => {
      watched = { connection, session };
    },
    close: () => listener.close(0),
  };
}
