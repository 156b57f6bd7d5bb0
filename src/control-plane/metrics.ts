import type { Registry } from "prom-client";
import { isUp } from "../conductor-client/liveness.js";
import { VM_STATES } from "../records/index.js";
import type { Files } from "../runtime/files.js";
import type { ServiceHandler, ServiceResponse } from "../runtime/http-server.js";
import type { Modules } from "../runtime/runtime.js";
import { madeOnce } from "../runtime/task-queue.js";
import type { Clock } from "../runtime/time.js";
import type { TaskRunner } from "./conductor/task-runner.js";
import { type RequestListener, requestMetrics } from "./request-log/request-log.js";
import { registerResourceMetrics } from "./resource-metrics.js";
import type { Store } from "./store/store.js";
import { TASK_KINDS } from "./store/tasks.js";

interface MetricsSources {
  readonly store: Store;
  readonly files: Pick<Files, "stat">;
  readonly clock: Pick<Clock, "now">;
  readonly modules: Modules;
  /** Milliseconds without a heartbeat after which a service is down. */
  readonly downTime: number;
  /** Runs the conductor's tasks. */
  readonly tasks: Pick<TaskRunner, "running" | "listen">;
  /** Registers a listener that is called for each request. */
  readonly onRequest: (listener: RequestListener) => void;
}

/** The prefix of all metric names. */
const PREFIX = "compute_cluster_";

/** The upper bounds of histogram buckets for durations; seconds. */
const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5, 30, 60];

/**
 * `GET /metrics` in Prometheus' text format; docs/reference/metrics.md lists the metrics. Requests are counted from the first
 * scrape.
 */
export function metricsService(sources: MetricsSources): ServiceHandler {
  const registryOf = madeOnce(() => createMetricsRegistry(sources));
  return async ({ method, path }) => {
    if (path !== "" && path !== "/") {
      return plain(404, "the metrics are at /metrics\n");
    }
    if (method !== "GET" && method !== "HEAD") {
      return plain(405, "use GET\n", { allow: "GET, HEAD" });
    }
    const made = await registryOf();
    return { status: 200, headers: { "content-type": made.contentType }, body: await made.metrics() };
  };
}

function plain(status: number, body: string, headers: Readonly<Record<string, string>> = {}): ServiceResponse {
  return { status, headers: { "content-type": "text/plain; charset=utf-8", ...headers }, body };
}

/**
 * Creates the registry. The library is loaded only here: a control plane that is never scraped neither loads it nor
 * counts anything.
 * @internal
 */
export async function createMetricsRegistry(sources: MetricsSources): Promise<Registry> {
  const { Counter, Gauge, Histogram, Registry } = await sources.modules.load(() => import("prom-client"));
  const registry = new Registry();
  const registers = [registry];
  const gauge = (name: string, help: string, read: () => number | Promise<number>): void => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  };
  const { store, files, clock, downTime } = sources;
  sources.onRequest(
    requestMetrics(
      new Counter({
        name: `${PREFIX}requests_total`,
        help: "Requests to the services, including those of agents, conductor and scheduler",
        labelNames: ["service", "method", "code"],
        registers,
      }),
      new Histogram({
        name: `${PREFIX}request_duration_seconds`,
        help: "Time from a request's arrival at its service to the response",
        labelNames: ["service"],
        buckets: DURATIONS,
        registers,
      }),
    ),
  );
  const durations = new Histogram({
    name: `${PREFIX}task_duration_seconds`,
    help: "Time from the submission of a conductor task to its end",
    labelNames: ["kind"],
    buckets: DURATIONS,
    registers,
  });
  for (const kind of TASK_KINDS) {
    durations.zero({ kind });
  }
  sources.tasks.listen((kind, milliseconds) => durations.observe({ kind }, milliseconds / 1000));
  new Gauge({
    name: `${PREFIX}hosts`,
    help: "nova-compute services, by state and status in the Compute API",
    labelNames: ["state", "status"],
    registers,
    collect() {
      for (const state of ["up", "down"]) {
        for (const status of ["enabled", "disabled"]) {
          this.set({ state, status }, 0);
        }
      }
      const options = { now: clock.now(), serviceDownTime: downTime };
      for (const service of store.services.states("nova-compute")) {
        this.inc({ state: isUp(service, options) ? "up" : "down", status: service.disabled ? "disabled" : "enabled" });
      }
    },
  });
  new Gauge({
    name: `${PREFIX}servers`,
    help: "Servers, by vm_state",
    labelNames: ["vm_state"],
    registers,
    collect() {
      const counts = store.instances.countsByVmState();
      for (const state of VM_STATES) {
        this.set({ vm_state: state }, counts.get(state) ?? 0);
      }
    },
  });
  registerResourceMetrics({ Gauge, registers, sql: store.database });
  gauge("tasks", "Pending conductor tasks, running or waiting", () => store.tasks.count());
  gauge("tasks_running", "Running conductor tasks", () => sources.tasks.running);
  gauge("messages_waiting", "Stored messages that agents have not acknowledged", () =>
    [...store.messages.countsByHost().values()].reduce((sum, count) => sum + count, 0),
  );
  const pages = (pragma: string): number => store.database.number(`PRAGMA ${pragma}`);
  gauge("database_bytes", "Size of the SQLite database", () => pages("page_count") * pages("page_size"));
  gauge(
    "database_free_bytes",
    "Unused pages of the SQLite database",
    () => pages("freelist_count") * pages("page_size"),
  );
  gauge("database_wal_bytes", "Size of the database's write-ahead log", async () => {
    const log = await files.stat(`${store.database.file.path}-wal`);
    return log?.bytes ?? 0;
  });
  return registry;
}
