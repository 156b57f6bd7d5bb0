import { madeOnce } from "../../runtime/made-once.js";
import type { ServiceHandler, ServiceResponse } from "../../runtime/service.js";
import { createMetricsRegistry, type MetricsSources } from "./control-plane-metrics.js";

/**
 * `GET /metrics` in Prometheus' text format; docs/metrics.md lists what is in it. Requests are counted from the first time on
 * that the metrics are asked for.
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
