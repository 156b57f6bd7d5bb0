import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { AgentBus } from "../../src/control-plane/conductor/agent-messages.js";
import { type Apis, createApis } from "../../src/control-plane/create-apis.js";
import { openStore } from "../../src/control-plane/store/open-store.js";
import type { Store } from "../../src/control-plane/store/store.js";
import { nodeDigests, nodeKeys } from "../../src/runtime/node/node-cryptography.js";
import { NodeFiles } from "../../src/runtime/node/node-files.js";
import { VirtualWorld } from "../../src/simulation/virtual-world.js";
import { NO_PORT_RESOURCES } from "../fixtures/no-port-resources.js";
import { NO_LIMITS } from "../fixtures/quota.js";
import { testBlockStorage } from "../fixtures/test-block-storage.js";
import { testNetwork } from "../fixtures/test-network.js";
import { CIRROS, passwordAuth, RESOURCES, TINY } from "../unit/control-plane/compute/api-world.js";

let folder: string;
let world: VirtualWorld;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "compute-api-"));
  world = new VirtualWorld();
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Running {
  readonly store: Store;
  readonly apis: Apis;
}

/**
 * Starts a control plane's state and APIs on the same file as before; messages are stored where the real bus stores
 * them.
 */
async function start(): Promise<Running> {
  const runtime = { ...world.spawn(), files: new NodeFiles() };
  const store = await openStore({ path: join(folder, "state.sqlite"), runtime });
  const bus: AgentBus = {
    cast: (host, method, params, requestId) => {
      store.messages.enqueue({ host, method, params: JSON.stringify(params), requestId });
    },
    call: () => Promise.reject(new Error("no agent here")),
    serves: () => false,
  };
  const options = {
    runtime,
    digests: nodeDigests,
    keys: nodeKeys,
    imageFolder: "/glance",
    network: testNetwork(store, runtime),
    blockStorage: testBlockStorage(store, runtime),
    store,
    bus,
    wake: () => undefined,
    taskEnded: async () => undefined,
    quota: NO_LIMITS,
    serviceDownTime: 60,
  };
  const placement = {
    ...NO_PORT_RESOURCES,
    aggregateAddHost: async () => undefined,
    aggregateRemoveHost: async () => undefined,
  };
  return { store, apis: createApis({ ...options, placement, deleteService: async () => undefined }) };
}

async function ask({ apis }: Running, method: string, path: string, token: string, body?: unknown) {
  return apis.services[path.startsWith("/v3") ? "/identity" : "/compute"]({
    method,
    path,
    query: "",
    headers: { "x-auth-token": token, "x-openstack-nova-api-version": "2.37" },
    body: body === undefined ? "" : JSON.stringify(body),
    baseUrl: "http://127.0.0.1:8774/compute",
  });
}

function prepare({ store }: Running): void {
  store.flavors.create(TINY);
  const { id } = store.services.create({ host: "devstack1", binary: "nova-compute", topic: "compute", version: 73 });
  const node = { host: "devstack1", serviceId: id, uuid: CIRROS, hypervisorHostname: "devstack1" };
  store.computeNodes.create({ ...node, resources: RESOURCES });
  store.services.reportState(id);
}

async function login(running: Running): Promise<string> {
  const scope = { project: { name: "admin", domain: { id: "default" } } };
  const password = await running.apis.identity.ensurePassword("admin");
  const reply = await ask(running, "POST", "/v3/auth/tokens", "", passwordAuth("admin", password, scope));
  return reply.headers["x-subject-token"] ?? "";
}

test("what was acknowledged is there after a kill, tokens included", async () => {
  const first = await start();
  prepare(first);
  const token = await login(first);
  const server = { name: "vm", flavorRef: "1", imageRef: CIRROS, networks: "none", max_count: 5 };
  const created = await ask(first, "POST", "/v2.1/servers", token, { server });
  expect(created.status).toBe(202);
  const activeInstance = first.store.instances.create({
    ...(first.store.requests.buildRequests()[0]?.instance ?? expect.unreachable()),
    uuid: "00000000-0000-4000-8000-00000000000a",
    host: "devstack1",
    node: "devstack1",
    computeId: first.store.computeNodes.byHost("devstack1")[0]?.id ?? null,
    vmState: "active",
    taskState: null,
  });
  first.store.mappings.mapInstance(activeInstance.uuid, activeInstance.projectId, "cell1");
  expect((await ask(first, "DELETE", `/v2.1/servers/${activeInstance.uuid}`, token)).status).toBe(204);
  // Closing has the same effect on the file as the end of a process; nothing is written.
  first.store.close();

  const second = await start();
  expect(second.store.tasks.pending().map(({ task }) => task.kind)).toEqual(Array(5).fill("build_instances"));
  expect(second.store.requests.buildRequests()).toHaveLength(5);
  expect(second.store.messages.pending("devstack1")).toMatchObject([{ method: "terminate_instance" }]);
  const list = await ask(second, "GET", "/v2.1/servers/detail", token);
  expect(JSON.parse(list.body).servers).toHaveLength(6);
  second.store.close();
});

test("200 requests at a time: each is stored or was refused", async () => {
  const running = await start();
  prepare(running);
  const token = await login(running);
  const server = (index: number) => ({
    server: { name: `vm${index}`, flavorRef: index % 10 === 0 ? "9" : "1", imageRef: CIRROS, networks: "none" },
  });
  const replies = await Promise.all(
    Array.from({ length: 200 }, (_, index) => ask(running, "POST", "/v2.1/servers", token, server(index))),
  );
  const acknowledged = replies.filter(({ status }) => status === 202).map(({ body }) => JSON.parse(body).server.id);
  expect(replies.filter(({ status }) => status === 400)).toHaveLength(20);
  const deletions = acknowledged.slice(0, 90).map((id) => ask(running, "DELETE", `/v2.1/servers/${id}`, token));
  expect((await Promise.all(deletions)).every(({ status }) => status === 204)).toBe(true);
  const stored = running.store.requests.buildRequests().map(({ instanceUuid }) => instanceUuid);
  expect(stored.sort()).toEqual(acknowledged.slice(90).sort());
  running.store.close();
});
