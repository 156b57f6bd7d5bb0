import { afterEach, beforeEach, expect, it } from "vitest";
import { type Reply, VirtualCloud } from "../fixtures/virtual-cloud.js";

let cloud: VirtualCloud;
function logged(process: string, requestId: string) {
  return cloud.world.logs.filter((record) => record.process === process && record.fields.request_id === requestId);
}
function idOf(reply: Reply): string {
  const id = reply.headers["x-openstack-request-id"] ?? "";
  expect(id).toMatch(/^req-[0-9a-f-]{36}$/);
  return id;
}

/** Returns the agent's requests to Placement about one consumer, since `from`. */
function about(host: string, consumer: string, from: number) {
  return cloud.placementRequests
    .slice(from)
    .filter((request) => request.host === host && request.path.startsWith(`/allocations/${consumer}`));
}

beforeEach(async () => {
  cloud = await VirtualCloud.open();
});
afterEach(() => cloud.close());

it("one request id goes from the API through conductor and agent to Placement: build, evacuate, delete", async () => {
  const first = await cloud.agent("devstack1");
  const created = await cloud.compute("POST", "/servers", {
    server: { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: "none" },
  });
  const build = idOf(created);
  const id = String((created.json.server as { id: string }).id);
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
  expect(logged("agent-devstack1", build).map(({ message }) => message)).toContain("build_and_run_instance finished");
  const actions = await cloud.compute("GET", `/servers/${id}/os-instance-actions`);
  expect((actions.json.instanceActions as { request_id: string }[]).map(({ request_id }) => request_id)).toEqual([
    build,
  ]);

  const { services: both } = (await cloud.compute("GET", "/os-services?host=devstack1&binary=nova-compute")).json;
  const [own] = both as { id: string }[];
  const start = cloud.placementRequests.length;
  const disable = idOf(await cloud.compute("PUT", `/os-services/${own?.id}`, { status: "disabled" }));
  expect(cloud.placementRequests.slice(start).map(({ method, requestId }) => [method, requestId])).toEqual([
    ["GET", disable],
    ["GET", disable],
    ["PUT", disable],
  ]);

  await cloud.agent("devstack2");
  first.runtime.kill();
  const { services } = (await cloud.compute("GET", "/os-services?host=devstack1&binary=nova-compute")).json;
  const [service] = services as { id: string }[];
  await cloud.compute("PUT", `/os-services/${service?.id}`, { forced_down: true });
  const evacuate = idOf(await cloud.compute("POST", `/servers/${id}/action`, { evacuate: { host: "devstack2" } }));
  await cloud.serverIs(id, (server) => server?.["OS-EXT-SRV-ATTR:host"] === "devstack2" && server.status === "ACTIVE");
  expect(evacuate).not.toBe(build);
  expect(logged("agent-devstack2", evacuate).length).toBeGreaterThan(0);
  expect(logged("agent-devstack2", build)).toEqual([]);

  const before = cloud.placementRequests.length;
  const removed = idOf(await cloud.compute("DELETE", `/servers/${id}`));
  await cloud.serverIs(id, (server) => server === null);
  expect(logged("agent-devstack2", removed).length).toBeGreaterThan(0);
  const requests = about("devstack2", id, before);
  expect(requests.map(({ method }) => method)).toContain("DELETE");
  expect(new Set(requests.map(({ requestId }) => requestId))).toEqual(new Set([removed]));
});

it("every request of an agent to Placement has an id: start, work, a return after an evacuation, and long idling", async () => {
  const first = await cloud.agent("devstack1");
  const boot = async (name: string): Promise<string> => {
    const image = await cloud.image();
    const server = { name, flavorRef: "1", imageRef: image, networks: "none" };
    const { id } = (await cloud.compute("POST", "/servers", { server })).json.server as { id: string };
    await cloud.serverIs(id, (found) => found?.status === "ACTIVE");
    return id;
  };
  const act = async (id: string, body: object, status: string): Promise<void> => {
    await cloud.compute("POST", `/servers/${id}/action`, body);
    await cloud.serverIs(id, (found) => found?.status === status);
  };
  const moved = await boot("moved");
  const evacuated = await boot("evacuated");
  await cloud.agent("devstack2");
  await act(moved, { migrate: null }, "VERIFY_RESIZE");
  await act(moved, { revertResize: null }, "ACTIVE");
  await act(moved, { migrate: null }, "VERIFY_RESIZE");
  await act(moved, { confirmResize: null }, "ACTIVE");
  first.runtime.kill();
  const { services } = (await cloud.compute("GET", "/os-services?host=devstack1&binary=nova-compute")).json;
  const [service] = services as { id: string }[];
  await cloud.compute("PUT", `/os-services/${service?.id}`, { forced_down: true });
  await cloud.compute("POST", `/servers/${evacuated}/action`, { evacuate: { host: "devstack2" } });
  await cloud.serverIs(evacuated, (found) => found?.["OS-EXT-SRV-ATTR:host"] === "devstack2");
  const returned = await cloud.agent("devstack1");
  // The cached providers expire in between.
  await cloud.world.advance(10 * 60_000);
  for (const id of [moved, evacuated]) {
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (found) => found === null);
  }
  await cloud.world.runUntil(returned.agent.stop());
  const agents = cloud.placementRequests.filter(({ host }) => host.startsWith("devstack"));
  expect(agents.length).toBeGreaterThan(20);
  expect(agents.filter(({ requestId = "" }) => !/^req-[0-9a-f-]{36}$/.test(requestId))).toEqual([]);
});

it("no token and no password is in any log of the scenario", async () => {
  await cloud.agent("devstack1");
  const created = await cloud.compute("POST", "/servers", {
    server: {
      name: "vm1",
      flavorRef: "1",
      imageRef: await cloud.image(),
      networks: "none",
      adminPass: "open sesame 17",
    },
  });
  cloud.secrets.add("open sesame 17");
  const { id } = created.json.server as { id: string };
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE");
  await cloud.compute("DELETE", `/servers/${id}`);
  await cloud.serverIs(id, (server) => server === null);
  // Expired tokens, an unreachable control plane and a guessed password each leave errors in the logs.
  await cloud.world.advance(3 * 3_600_000);
  cloud.world.network.partition("agent-devstack1", "control-plane");
  await cloud.world.advance(120_000);
  cloud.world.network.heal("agent-devstack1", "control-plane");
  await expect(cloud.logIn("guess 4711")).rejects.toThrow("401");
  await cloud.world.advance(120_000);
  const log = JSON.stringify(cloud.world.logs, (_key, value: unknown) =>
    value instanceof Error ? `${value.name} ${value.message} ${value.stack} ${String(value.cause)}` : value,
  );
  expect(cloud.world.logs.length).toBeGreaterThan(10);
  const secrets = [...cloud.secrets].filter((secret) => secret !== "");
  expect(secrets.length).toBeGreaterThanOrEqual(4);
  expect(secrets.filter((secret) => log.includes(secret))).toEqual([]);
});
