import { type AgentMetrics, NO_METRICS } from "../../agent/metrics/metrics.js";
import { createMetricsRegistry, serveMetrics } from "../../agent/metrics/metrics-registry.js";
import type { ConductorConnection, HostSession } from "../../conductor-client/port.js";
import type { Runtime } from "../../runtime/runtime.js";

/** What `--metrics-port` asks for. */
export interface MetricsOutlet {
  /** Label `host` of every sample; "" is none: what the hosts of a process share. */
  forHost(host: string): AgentMetrics;
  /** The address of the metrics; null: they are not served. */
  readonly url: string | null;
  /** From now on the metrics show the state of the connection. */
  watchConnection(connection: ConductorConnection): void;
  /** From now on the metrics show whether the session has the host's lease. */
  watchHost(session: HostSession): void;
  close(): Promise<void>;
}

const NO_OUTLET: MetricsOutlet = {
  forHost: () => NO_METRICS,
  url: null,
  watchConnection: () => undefined,
  watchHost: () => undefined,
  close: async () => undefined,
};

/** @param port undefined: no metrics; 0: any free port. @throws {AddressInUse} */
export async function openMetrics(port: number | undefined, runtime: Pick<Runtime, "servers">): Promise<MetricsOutlet> {
  if (port === undefined) {
    return NO_OUTLET;
  }
  let watched: ConductorConnection | undefined;
  const sessions = new Map<string, HostSession>();
  const registry = await createMetricsRegistry({
    leases: () => new Map([...sessions].map(([host, { leaseHeld }]) => [host, leaseHeld])),
    conductorConnected: () => watched?.state === "connected",
  });
  const listener = await serveMetrics(runtime.servers, registry, port);
  return {
    forHost: (host) => registry.forHost(host),
    url: `${listener.url}/metrics`,
    watchConnection: (connection) => {
      watched = connection;
    },
    watchHost: (session) => void sessions.set(session.host, session),
    close: () => listener.close(0),
  };
}
