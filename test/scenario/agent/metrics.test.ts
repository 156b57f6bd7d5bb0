import { afterEach, describe, expect, it } from "vitest";
import {
  createMetricsRegistry,
  type MetricsRegistry,
  metricsHandler,
  serveMetrics,
} from "../../../src/agent/metrics/metrics-registry.js";
import type { Listener } from "../../../src/runtime/http-server.js";
import { createNodeLogger } from "../../../src/runtime/node/node-logger.js";
import { NodeServers } from "../../../src/runtime/node/node-servers.js";
import { UndiciHttpClient } from "../../../src/runtime/node/undici-http-client.js";
import { uuidOf } from "../../unit/agent/support/records.js";
import { scenario } from "../../unit/agent/support/scenario.js";

function registryOf(held = true): Promise<MetricsRegistry> {
  return createMetricsRegistry({ leases: () => new Map([["h1", held]]), conductorConnected: () => held });
}

/** Returns the value of the sample whose line begins with `start`; undefined: there is none. */
function sample(text: string, start: string): string | undefined {
  return text
    .split("\n")
    .find((line) => line.startsWith(`openstack_nova_compute_${start} `))
    ?.split(" ")
    .at(-1);
}

describe("the metrics of an agent", () => {
  it("counts requests to Placement by method, route and status, and conflicts apart", async () => {
    const registry = await registryOf();
    const metrics = registry.forHost("h1");
    const route = "/allocations/{consumer_uuid}";
    for (const status of [204, 204, 409, null]) {
      metrics.placementRequest({ method: "PUT", route, status, milliseconds: 20 });
    }
    const text = await registry.text();
    const labels = `host="h1",method="PUT",route="${route}"`;
    expect(sample(text, `placement_requests_total{${labels},status="204"}`)).toBe("2");
    expect(sample(text, `placement_requests_total{${labels},status="none"}`)).toBe("1");
    expect(sample(text, `placement_conflicts_total{${labels}}`)).toBe("1");
    expect(sample(text, `placement_request_duration_seconds_count{${labels}}`)).toBe("4");
    expect(Number(sample(text, `placement_request_duration_seconds_sum{${labels}}`))).toBeCloseTo(0.08);
  });

  it("shows a periodic task that never failed as 0 failures", async () => {
    const registry = await registryOf();
    registry.forHost("h1").periodicTask("update_available_resource", 0.3, false);
    registry.forHost("h1").periodicTask("_sync_power_states", 2, true);
    const text = await registry.text();
    expect(sample(text, 'periodic_task_failures_total{host="h1",task="update_available_resource"}')).toBe("0");
    expect(sample(text, 'periodic_task_failures_total{host="h1",task="_sync_power_states"}')).toBe("1");
    expect(
      sample(text, 'periodic_task_duration_seconds_bucket{le="0.5",host="h1",task="update_available_resource"}'),
    ).toBe("1");
  });

  it("asks for lease and connection when it is read", async () => {
    for (const held of [true, false]) {
      const text = await (await registryOf(held)).text();
      expect(sample(text, 'host_lease_held{host="h1"}')).toBe(held ? "1" : "0");
      expect(sample(text, "conductor_connected")).toBe(held ? "1" : "0");
    }
  });

  it("keeps hosts of one process apart, and processes too", async () => {
    const [one, two] = [await registryOf(), await registryOf()];
    one.forHost("h1").orphanGuests(3);
    one.forHost("h2").orphanGuests(4);
    expect(sample(await one.text(), 'orphan_guests{host="h1"}')).toBe("3");
    expect(sample(await one.text(), 'orphan_guests{host="h2"}')).toBe("4");
    expect(await two.text()).not.toContain('orphan_guests{host="h1"}');
  });
});

describe("the metrics endpoint", () => {
  const http = new UndiciHttpClient();
  let listener: Listener | undefined;

  afterEach(async () => {
    await listener?.close(0);
    await http.close();
    listener = undefined;
  });

  it("serves GET /metrics on the loopback interface, and nothing else", async () => {
    const registry = await registryOf();
    listener = await serveMetrics(new NodeServers(createNodeLogger({ level: "silent" })), registry, 0);
    expect(listener.address).toBe("127.0.0.1");
    const response = await http.request({ method: "GET", url: `${listener.url}/metrics` });
    expect(response.status).toBe(200);
    expect(response.headers["content-type"]).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(response.body).toContain("# TYPE openstack_nova_compute_host_lease_held gauge");
    for (const [method, path, status, body] of [
      ["POST", "/metrics", 405, "x"],
      ["GET", "/metrics/more", 404, undefined],
      ["GET", "/", 404, undefined],
      ["POST", "/metrics", 413, "x".repeat(2_000)],
    ] as const) {
      const rejection = await http.request({ method, url: listener.url + path, ...(body ? { body } : {}) });
      expect([method, path, rejection.status]).toEqual([method, path, status]);
    }
  });

  it("answers HEAD like GET", async () => {
    const handler = metricsHandler(await registryOf());
    const request = { method: "HEAD", path: "", query: "", headers: {}, body: "", baseUrl: "" };
    expect((await handler(request)).status).toBe(200);
  });
});

scenario("2.4 G13, 4.5: an agent that runs fills its metrics", async (harness) => {
  const registry = await registryOf();
  const hypervisor = harness.hypervisor("h1");
  const run = await harness.start("h1", {
    metrics: registry.forHost("h1"),
    config: { defaults: { periodic_enable: true, periodic_fuzzy_delay: 0 } },
  });
  hypervisor.addGuest(uuidOf(9));
  await harness.world.advance(700_000);
  const text = await registry.text();
  expect(sample(text, 'guests{host="h1"}')).toBe("1");
  expect(sample(text, 'orphan_guests{host="h1"}')).toBe("1");
  expect(sample(text, 'foreign_guests{host="h1"}')).toBe("0");
  expect(Number(sample(text, 'heartbeats_total{host="h1",outcome="reported"}'))).toBeGreaterThan(50);
  expect(
    Number(sample(text, 'periodic_task_duration_seconds_count{host="h1",task="update_available_resource"}')),
  ).toBeGreaterThan(9);
  expect(
    Number(sample(text, 'driver_calls_total{host="h1",method="listInstanceUuids",outcome="success"}')),
  ).toBeGreaterThan(0);
  await harness.stop(run);
});
