import type { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Listener, Servers, ServiceHandler } from "../../runtime/http-server.js";
import type { AgentMetrics } from "./metrics.js";

/** Prefix of all names; OpenStack's exporters use `openstack_nova_*`. */
const PREFIX = "openstack_nova_compute_";

/** In seconds. Periodic tasks over many nodes take minutes. */
const TASK_BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 300];

const REQUEST_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 60];

const DRIVER_BUCKETS = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 30, 120, 600];

/** Values that are read when the metrics are scraped. */
export interface MetricsSources {
  /** Host → whether its agent owns the host's lease. */
  readonly leases: () => ReadonlyMap<string, boolean>;
  readonly conductorConnected: () => boolean;
}

/** The metrics of one agent process, in Prometheus' text format; docs/reference/metrics.md lists them. */
export interface MetricsRegistry {
  /** Returns the metrics of one host; every sample has the label `host`. */
  forHost(host: string): AgentMetrics;
  readonly contentType: string;
  text(): Promise<string>;
}

/** Loads prom-client here only: an agent without `--metrics-port` does not need it. */
export async function createMetricsRegistry(sources: MetricsSources): Promise<MetricsRegistry> {
  const client = await import("prom-client");
  const registry = new client.Registry();
  const instruments = createInstruments(client, registry, sources);
  return {
    forHost: (host) => hostMetrics(host, instruments),
    contentType: registry.contentType,
    text: () => registry.metrics(),
  };
}

function createInstruments(
  { Counter, Gauge, Histogram }: typeof import("prom-client"),
  registry: Registry,
  sources: MetricsSources,
) {
  const registers = [registry];
  const counter = (name: string, help: string, ...labels: string[]): Counter =>
    new Counter({ name: PREFIX + name, help, labelNames: ["host", ...labels], registers });
  const gauge = (name: string, help: string, ...labels: string[]): Gauge =>
    new Gauge({ name: PREFIX + name, help, labelNames: ["host", ...labels], registers });
  const histogram = (name: string, help: string, buckets: number[], ...labels: string[]): Histogram =>
    new Histogram({ name: PREFIX + name, help, labelNames: ["host", ...labels], buckets, registers });

  new Gauge({
    name: `${PREFIX}host_lease_held`,
    help: "1 while this agent holds the lease of the host",
    labelNames: ["host"],
    registers,
    collect() {
      for (const [host, held] of sources.leases()) {
        this.set({ host }, held ? 1 : 0);
      }
    },
  });
  new Gauge({
    name: `${PREFIX}conductor_connected`,
    help: "1 while the connection to the conductor is up",
    registers,
    collect() {
      this.set(sources.conductorConnected() ? 1 : 0);
    },
  });
  return {
    guests: gauge("guests", "Guests on the hypervisor"),
    foreignGuests: gauge("foreign_guests", "Guests whose instance belongs to another host, with no move to explain it"),
    orphanGuests: gauge("orphan_guests", "Guests without a known instance"),
    evacuatedGuests: counter("evacuated_guests_total", "Guests of evacuated instances that were handled", "outcome"),
    leakedAllocations: gauge("leaked_allocations", "Consumers with leaked allocations on this host", "kind"),
    taskDuration: histogram("periodic_task_duration_seconds", "Runs of periodic tasks", TASK_BUCKETS, "task"),
    taskFailures: counter("periodic_task_failures_total", "Runs of periodic tasks that failed", "task"),
    requests: counter("placement_requests_total", "Requests to Placement", "method", "route", "status"),
    requestDuration: histogram(
      "placement_request_duration_seconds",
      "Requests to Placement",
      REQUEST_BUCKETS,
      "method",
      "route",
    ),
    conflicts: counter("placement_conflicts_total", "Requests that Placement rejected with 409", "method", "route"),
    claims: counter("claims_total", "Claims of the resource tracker", "kind", "outcome"),
    claimAborts: counter("claim_aborts_total", "Claims that were aborted", "kind"),
    driverCalls: counter("driver_calls_total", "Calls of the virt driver", "method", "outcome"),
    driverDuration: histogram("driver_call_duration_seconds", "Calls of the virt driver", DRIVER_BUCKETS, "method"),
    driverUnhandledErrors: counter(
      "driver_stray_errors_total",
      "Errors of the virt driver outside of its calls",
      "method",
      "kind",
    ),
    heartbeats: counter("heartbeats_total", "Heartbeats of the service", "outcome"),
    messages: counter("rpc_messages_total", "Messages over a real Nova's RabbitMQ", "event", "method"),
    waiting: gauge("rpc_calls_waiting", "Calls over a real Nova's RabbitMQ that wait for a reply", "method"),
  };
}

type Instruments = ReturnType<typeof createInstruments>;

function hostMetrics(host: string, to: Instruments): AgentMetrics {
  return {
    guests: (count) => to.guests.set({ host }, count),
    foreignGuests: (count) => to.foreignGuests.set({ host }, count),
    orphanGuests: (count) => to.orphanGuests.set({ host }, count),
    evacuatedGuest: (outcome) => to.evacuatedGuests.inc({ host, outcome }),
    leakedAllocations: (kind, count) => to.leakedAllocations.set({ host, kind }, count),
    periodicTask: (task, seconds, failed) => {
      to.taskDuration.observe({ host, task }, seconds);
      // Initialises the counter with 0, so that the first failure appears as an increase.
      to.taskFailures.inc({ host, task }, failed ? 1 : 0);
    },
    claim: (kind, outcome) => {
      if (outcome === "aborted") {
        to.claimAborts.inc({ host, kind });
      } else {
        to.claims.inc({ host, kind, outcome });
      }
    },
    message: (event, method, count = 1) => to.messages.inc({ host, event, method }, count),
    waitedFor: (method, change) => to.waiting.inc({ host, method }, change),
    heartbeat: (reported) => to.heartbeats.inc({ host, outcome: reported ? "reported" : "failed" }),
    placementRequest: ({ method, route, status, milliseconds }) => {
      to.requests.inc({ host, method, route, status: status === null ? "none" : String(status) });
      to.requestDuration.observe({ host, method, route }, milliseconds / 1000);
      if (status === 409) {
        to.conflicts.inc({ host, method, route });
      }
    },
    driverCall: (method, milliseconds, outcome) => {
      to.driverCalls.inc({ host, method, outcome });
      to.driverDuration.observe({ host, method }, milliseconds / 1000);
    },
    driverUnhandledError: (method, kind) => to.driverUnhandledErrors.inc({ host, method, kind }),
  };
}

/** A scraper needs one connection, sends no body, and finishes quickly. */
const LIMITS = { bodyBytes: 1024, headersTimeout: 5_000, requestTimeout: 10_000, connections: 16 };

/** Serves `GET /metrics` on the loopback interface; port 0 selects a free port. @throws {AddressInUse} */
export function serveMetrics(servers: Servers, registry: MetricsRegistry, port: number): Promise<Listener> {
  return servers.listen({ port, services: { "/metrics": metricsHandler(registry) }, limits: LIMITS });
}

/**
 * Handles `GET` and `HEAD`. Responds with 405 to other methods, and with 404 below the path.
 * @internal for tests
 */
export function metricsHandler(registry: MetricsRegistry): ServiceHandler {
  return async ({ method, path }) => {
    if (path !== "" && path !== "/") {
      return plain(404, "the metrics are at /metrics\n");
    }
    if (method !== "GET" && method !== "HEAD") {
      return plain(405, "use GET\n", { allow: "GET, HEAD" });
    }
    return {
      status: 200,
      headers: { "content-type": registry.contentType },
      body: await registry.text(),
    };
  };
}

function plain(status: number, body: string, headers: Readonly<Record<string, string>> = {}) {
  return {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...headers },
    body,
  };
}
