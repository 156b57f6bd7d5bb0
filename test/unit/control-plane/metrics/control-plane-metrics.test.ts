// Loaded eagerly: virtual time must not advance while a module is loading.
import "prom-client";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createMetricsRegistry } from "../../../../src/control-plane/metrics.js";
import type { RequestListener } from "../../../../src/control-plane/request-log/request-log.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { testBlockStorage } from "../../../fixtures/test-block-storage.js";
import { openControlPlane } from "../../../fixtures/world/control-plane.js";

let world: VirtualWorld;
let runtime: VirtualRuntime;
let controlPlane: Awaited<ReturnType<typeof openControlPlane>>;

beforeEach(async () => {
  world = new VirtualWorld();
  runtime = world.spawn({ name: "control-plane" });
  controlPlane = await world.runUntil(openControlPlane({ runtime }));
});
afterEach(() => world.runUntil(controlPlane.stop()));

function ask(path: string, method: "GET" | "HEAD" | "POST" = "GET") {
  return world.runUntil(runtime.http.request({ method, url: controlPlane.url + path }));
}

/** Returns the samples: name with labels → value. */
async function metrics(): Promise<ReadonlyMap<string, number>> {
  const { body } = await ask("/metrics");
  const samples = body.split("\n").filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))]),
  );
}

const REQUESTS = 'compute_cluster_requests_total{service="identity",method="GET",code="2xx"}';

it("all series exist from the start with 0, and requests are counted from then on", async () => {
  await ask("/identity/v3");
  const first = await metrics();
  expect(first.get(REQUESTS)).toBe(0);
  expect(first.get('compute_cluster_requests_total{service="other",method="other",code="5xx"}')).toBe(0);
  expect(first.get('compute_cluster_request_duration_seconds_count{service="placement"}')).toBe(0);
  expect(first.get('compute_cluster_servers{vm_state="shelved_offloaded"}')).toBe(0);
  expect(first.get("compute_cluster_tasks")).toBe(0);
  await ask("/identity/v3");
  await ask("/placement/resource_providers");
  const then = await metrics();
  expect(then.get(REQUESTS)).toBe(1);
  expect(then.get('compute_cluster_requests_total{service="placement",method="GET",code="4xx"}')).toBe(1);
  expect(then.get('compute_cluster_request_duration_seconds_count{service="placement"}')).toBe(1);
});

it("hosts are counted as the Compute API sees them", async () => {
  const { services } = controlPlane.store;
  const [up, disabled, forced, late] = ["one", "two", "three", "four"].map((host) =>
    services.create({ host, binary: "nova-compute", topic: "compute", version: 73 }),
  );
  await world.advance(120_000);
  for (const service of [up, disabled, forced]) {
    services.reportState(service?.id ?? 0);
  }
  services.update(disabled?.id ?? 0, { disabled: true });
  services.update(forced?.id ?? 0, { forcedDown: true });
  expect(late?.lastSeenUp ?? null).toBeNull();
  const found = await metrics();
  const hosts = (state: string, status: string) =>
    found.get(`compute_cluster_hosts{state="${state}",status="${status}"}`);
  expect([
    hosts("up", "enabled"),
    hosts("up", "disabled"),
    hosts("down", "enabled"),
    hosts("down", "disabled"),
  ]).toEqual([1, 1, 2, 0]);
});

it("networks, ports, floating IPs and failed bindings are counted", async () => {
  const before = await metrics();
  expect(before.get("compute_cluster_networks")).toBe(3);
  expect(before.get('compute_cluster_floating_ips{status="ACTIVE"}')).toBe(0);
  expect(before.get("compute_cluster_port_bindings_failed")).toBe(0);
  const { database } = controlPlane.store;
  const ports = before.get('compute_cluster_ports{status="ACTIVE"}') ?? 0;
  expect(ports).toBeGreaterThan(0);
  database.run("UPDATE network_ports SET status = 'ERROR'");
  database.run("UPDATE network_port_bindings SET vif_type = 'binding_failed'");
  const after = await metrics();
  expect(after.get('compute_cluster_ports{status="ACTIVE"}')).toBe(0);
  expect(after.get('compute_cluster_ports{status="ERROR"}')).toBeGreaterThanOrEqual(ports);
  expect(after.get("compute_cluster_port_bindings_failed")).toBeGreaterThan(0);
});

it("volumes, their attachments and their size are counted", async () => {
  const before = await metrics();
  expect(before.get('compute_cluster_volumes{status="detaching"}')).toBe(0);
  expect(before.get('compute_cluster_volume_attachments{status="attached"}')).toBe(0);
  expect(before.get("compute_cluster_volumes_bytes")).toBe(0);
  const { store } = controlPlane;
  const { createVolume, volumes } = testBlockStorage(store, runtime);
  const ids = [await world.runUntil(createVolume()), await world.runUntil(createVolume())];
  volumes.complete(volumes.reserve(ids[0] ?? "", "5a000000-0000-4000-8000-000000000001"));
  const after = await metrics();
  expect(after.get('compute_cluster_volumes{status="in-use"}')).toBe(1);
  expect(after.get('compute_cluster_volumes{status="available"}')).toBe(1);
  expect(after.get('compute_cluster_volume_attachments{status="attached"}')).toBe(1);
  expect(after.get("compute_cluster_volumes_bytes")).toBe(2 * 1024 ** 3);
});

it("the size of the database is the size of its pages", async () => {
  const found = await metrics();
  expect(found.get("compute_cluster_database_bytes")).toBeGreaterThan(100_000);
  expect(found.get("compute_cluster_database_free_bytes")).toBeLessThan(
    found.get("compute_cluster_database_bytes") ?? 0,
  );
});

it("GET and HEAD are handled as Prometheus requires, other methods are rejected", async () => {
  expect((await ask("/metrics")).headers["content-type"]).toContain("text/plain; version=0.0.4");
  expect((await ask("/metrics", "HEAD")).status).toBe(200);
  expect((await ask("/metrics", "POST")).status).toBe(405);
  expect((await ask("/metrics/more")).status).toBe(404);
});

it("requests without a service and unknown methods do not create series", async () => {
  const { store } = controlPlane;
  const { files, clock, modules } = runtime;
  let hear: RequestListener = () => undefined;
  const onRequest = (listener: RequestListener) => {
    hear = listener;
  };
  const registry = await createMetricsRegistry({
    store,
    files,
    clock,
    modules,
    downTime: 0,
    tasks: { running: 2, listen: (listener) => listener("build_instances", 20) },
    onRequest,
  });
  const request = { method: "BREW", path: "/coffee", query: "", headers: {}, body: "" };
  const response = { status: 404, headers: {}, body: "" };
  hear({ mount: "", request, response, caller: undefined, milliseconds: null });
  const text = await registry.metrics();
  expect(text).toContain('compute_cluster_requests_total{service="other",method="other",code="4xx"} 1');
  expect(text).toContain("compute_cluster_tasks_running 2");
  expect(text).toContain('compute_cluster_task_duration_seconds_bucket{le="0.01",kind="build_instances"} 0');
  expect(text).toContain('compute_cluster_task_duration_seconds_bucket{le="0.025",kind="build_instances"} 1');
  expect(text).toContain('compute_cluster_task_duration_seconds_count{kind="delete_local"} 0');
  expect(text).not.toContain("BREW");
});
