import type { Listener, Servers } from "../../runtime/server.js";
import type { ServiceHandler } from "../../runtime/service.js";
import type { MetricsRegistry } from "./metrics-registry.js";

/** A scraper needs one connection, sends no body, and is quick about it. */
const LIMITS = { bodyBytes: 1024, headersTimeout: 5_000, requestTimeout: 10_000, connections: 16 };

/** Serves `GET /metrics` on the loopback interface; port 0 takes a free one. @throws {AddressInUse} */
export function serveMetrics(servers: Servers, registry: MetricsRegistry, port: number): Promise<Listener> {
  return servers.listen({ port, services: { "/metrics": metricsHandler(registry) }, limits: LIMITS });
}

/**
 * `GET` and `HEAD`; anything else is answered with 405, what is below the path with 404.
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
