import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { audit } from "../../src/control-plane/manage/audit.js";
import { type HealOptions, healAllocations } from "../../src/control-plane/manage/heal-allocations.js";
import type { FaultSet } from "../../src/faults/fault-set.js";
import { parseFaultRule } from "../../src/faults/faults.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import { VirtualCloud } from "../fixtures/virtual-cloud.js";

const HOSTS = ["devstack1", "devstack2"] as const;

let cloud: VirtualCloud;
const faults = new Map<string, FaultSet>();
const runtimes = new Map<string, VirtualRuntime>();
/** Providers of each host: its compute node, L2 agent and bridge. */
const providers = new Map<string, { readonly node: string; readonly agent: string; readonly bridge: string }>();
let qosPort: string;

beforeEach(async () => {
  // Nova's agents attach no networks.
  cloud = await VirtualCloud.open({ nova: undefined });
  for (const host of HOSTS) {
    await start(host);
    await findProviders(host);
  }
  qosPort = await createQosPort({ bandwidth: 1000, packetRate: 500 });
});
afterEach(() => cloud.close());

const OVS = {
  resource_provider_bandwidths: "br-phys:1500:",
  resource_provider_packet_processing_without_direction: ":1000",
};

async function start(host: string, process = `agent-${host}`): Promise<void> {
  const agent = await cloud.agent(host, { process, sections: { ovs: OVS } });
  faults.set(host, agent.faults);
  runtimes.set(host, agent.runtime);
}

async function network(method: "POST" | "PUT" | "DELETE" | "GET", path: string, body?: unknown) {
  return (await cloud.request(method, `/network/v2.0${path}`, body)).json;
}

async function placement(method: "POST" | "PUT" | "GET", path: string, body?: unknown) {
  return (await cloud.placement(method, path, body)).json;
}

/** Notes the providers of a host. */
async function findProviders(host: string): Promise<void> {
  const named = async (name: string): Promise<string> => {
    const listed = await placement("GET", `/resource_providers?name=${encodeURIComponent(name)}`);
    return (listed.resource_providers as { uuid: string }[])[0]?.uuid ?? expect.fail(`there is no provider ${name}`);
  };
  providers.set(host, {
    node: await named(host),
    agent: await named(`${host}:Open vSwitch agent`),
    bridge: await named(`${host}:Open vSwitch agent:br-phys`),
  });
}

/** Creates a port, on a network of physnet1, with a policy of its own; returns its id. */
async function createQosPort(rates: { readonly bandwidth?: number; readonly packetRate?: number }): Promise<string> {
  const policy = (await network("POST", "/qos/policies", { policy: { name: "guaranteed" } })).policy as { id: string };
  if (rates.bandwidth !== undefined) {
    const rule = { min_kbps: rates.bandwidth, direction: "egress" };
    await network("POST", `/qos/policies/${policy.id}/minimum_bandwidth_rules`, { minimum_bandwidth_rule: rule });
  }
  if (rates.packetRate !== undefined) {
    const rule = { min_kpps: rates.packetRate, direction: "any" };
    await network("POST", `/qos/policies/${policy.id}/minimum_packet_rate_rules`, { minimum_packet_rate_rule: rule });
  }
  const port = { network_id: await vlanNetwork(), qos_policy_id: policy.id };
  return ((await network("POST", "/ports", { port })).port as { id: string }).id;
}

async function vlanNetwork(): Promise<string> {
  const { networks } = await network("GET", "/networks?name=vlan");
  const [existing] = networks as { id: string }[];
  if (existing) {
    return existing.id;
  }
  const provider = { "provider:network_type": "vlan", "provider:physical_network": "physnet1" };
  const created = (await network("POST", "/networks", { network: { name: "vlan", ...provider } })).network;
  const { id } = created as { id: string };
  await network("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.9.0.0/24" } });
  return id;
}

const FLAVOR = { vcpus: 1, ram: 512, disk: 1 };

/** Creates a flavor that permits several groups of resources; returns its id. */
async function flavor(sizes: Readonly<Record<string, number>> = {}): Promise<string> {
  const sized = { ...FLAVOR, ...sizes };
  const name = `qos-${Object.values(sized).join("-")}`;
  const { flavors } = (await cloud.compute("GET", "/flavors")).json as { flavors: { id: string; name: string }[] };
  const existing = flavors.find((each) => each.name === name);
  if (existing) {
    return existing.id;
  }
  const body = { flavor: { ...sized, name } };
  const { id } = (await cloud.compute("POST", "/flavors", body)).json.flavor as { id: string };
  await cloud.compute("POST", `/flavors/${id}/os-extra_specs`, { extra_specs: { group_policy: "none" } });
  return id;
}

/** Requests a server, by default on `devstack1` with the port that has requests. */
async function create(server: Record<string, unknown> = {}): Promise<string> {
  const networks = [{ port: qosPort }];
  const defaults = {
    name: "vm1",
    flavorRef: await flavor(),
    imageRef: await cloud.image(),
    networks,
    host: "devstack1",
  };
  const reply = await cloud.compute("POST", "/servers", { server: { ...defaults, ...server } });
  return (reply.json as { server: { id: string } }).server.id;
}

async function active(id: string, host: string): Promise<void> {
  await cloud.serverIs(id, (server) => server?.status === "ACTIVE" && server["OS-EXT-SRV-ATTR:host"] === host);
}

async function activeServer(server: Record<string, unknown> = {}): Promise<string> {
  const id = await create(server);
  await active(id, "devstack1");
  return id;
}

const act = (id: string, body: unknown) => cloud.compute("POST", `/servers/${id}/action`, body);

/** Returns the consumer's resources by host and kind of provider. */
async function allocationsOf(consumer: string): Promise<Readonly<Record<string, unknown>>> {
  const { allocations } = await placement("GET", `/allocations/${consumer}`);
  const names = new Map(
    [...providers].flatMap(([host, uuids]) => Object.entries(uuids).map(([kind, uuid]) => [uuid, `${host} ${kind}`])),
  );
  const entries = Object.entries(allocations as Record<string, { resources: unknown }>);
  return Object.fromEntries(entries.map(([uuid, { resources }]) => [names.get(uuid) ?? uuid, resources]));
}

const onHost = (host: string) => ({
  [`${host} node`]: { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 },
  [`${host} agent`]: { NET_PACKET_RATE_KILOPACKET_PER_SEC: 500 },
  [`${host} bridge`]: { NET_BW_EGR_KILOBIT_PER_SEC: 1000 },
});

/** Replaces the allocations of a server by those on some providers, such as `devstack1 bridge`. */
async function replaceAllocations(id: string, names: readonly string[]): Promise<void> {
  const { allocations: _, ...consumer } = await placement("GET", `/allocations/${id}`);
  const needed: Readonly<Record<string, object>> = { ...onHost("devstack1"), ...onHost("devstack2") };
  const uuids = [...providers].flatMap(([host, byKind]) =>
    Object.entries(byKind).flatMap(([kind, uuid]) => {
      const name = `${host} ${kind}`;
      return names.includes(name) ? [[uuid, { resources: needed[name] }] as const] : [];
    }),
  );
  const body = { ...consumer, consumer_type: "INSTANCE", allocations: Object.fromEntries(uuids) };
  await placement("PUT", `/allocations/${id}`, body);
}

/** Returns the providers of a host that the active binding of the port must name. */
function profileOn(host: string) {
  const [bandwidth, packetRate] = cloud.ports.resourceRequests(null, [qosPort]).get(qosPort)?.request_groups ?? [];
  const { bridge, agent } = providers.get(host) ?? expect.fail(`${host} has no providers`);
  return { allocation: { [bandwidth?.id ?? ""]: bridge, [packetRate?.id ?? ""]: agent } };
}

const profile = () => cloud.ports.get(qosPort)?.profile;

describe("the Open vSwitch agent of a host", () => {
  test("has a provider with its packet rate, and one with the bandwidth of each bridge", async () => {
    const { node, agent, bridge } = providers.get("devstack1") ?? expect.fail("there are no providers");
    const show = async (uuid: string) => ({
      parent: (await placement("GET", `/resource_providers/${uuid}`)).parent_provider_uuid,
      traits: (await placement("GET", `/resource_providers/${uuid}/traits`)).traits,
      inventories: (await placement("GET", `/resource_providers/${uuid}/inventories`)).inventories,
    });
    const inventory = { reserved: 0, min_unit: 1, step_size: 1, allocation_ratio: 1 };
    expect(await show(agent)).toEqual({
      parent: node,
      traits: ["CUSTOM_VNIC_TYPE_NORMAL"],
      inventories: { NET_PACKET_RATE_KILOPACKET_PER_SEC: { ...inventory, total: 1000, max_unit: 1000 } },
    });
    expect(await show(bridge)).toEqual({
      parent: agent,
      traits: expect.arrayContaining(["CUSTOM_VNIC_TYPE_NORMAL", "CUSTOM_PHYSNET_PHYSNET1"]),
      inventories: { NET_BW_EGR_KILOBIT_PER_SEC: { ...inventory, total: 1500, max_unit: 1500 } },
    });
  });

  test("keeps its providers when the agent of the host starts without its options", async () => {
    const before = providers.get("devstack1");
    runtimes.get("devstack1")?.kill();
    await cloud.agent("devstack1", { process: "agent-devstack1-again" });
    await cloud.world.advance(600_000);
    await findProviders("devstack1");
    expect(providers.get("devstack1")).toEqual(before);
  });

  test("goes with its host", async () => {
    runtimes.get("devstack1")?.kill();
    await cloud.world.advance(120_000);
    await cloud.compute("DELETE", `/os-services/${await cloud.serviceId("devstack1")}`);
    const { resource_providers: left } = await placement("GET", "/resource_providers");
    expect((left as { name: string }[]).filter(({ name }) => name.startsWith("devstack1"))).toEqual([]);
  });
});

describe("a server with a port that requests resources", () => {
  test("has them allocated with its own, and frees them when it is deleted", async () => {
    const id = await activeServer();
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack1"));
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (server) => server === null);
    expect(await allocationsOf(id)).toEqual({});
    expect(profile()).toEqual({});
  });

  test("is only built on a host with enough of them", async () => {
    await activeServer();
    const port = await createQosPort({ bandwidth: 1000 });
    const second = await create({ networks: [{ port }], host: undefined });
    await active(second, "devstack2");
    const third = await create({ networks: [{ port: await createQosPort({ bandwidth: 1000 }) }], host: undefined });
    await cloud.serverIs(third, (server) => server?.status === "ERROR");
    expect((await cloud.server(third))?.fault).toMatchObject({ message: expect.stringContaining("No valid host") });
  });
});

describe("healing the allocations of a server whose port requests resources", () => {
  const HEAL = { force: false, dryRun: false, verbose: true };
  const heal = (options: Partial<HealOptions> = {}) =>
    cloud.manage((parts) => healAllocations(parts, { ...HEAL, ...options }));

  /** Leaves the server with the allocations on some providers of its host. */
  const leaveAllocations = (id: string, kinds: readonly string[]) =>
    replaceAllocations(
      id,
      kinds.map((kind) => `devstack1 ${kind}`),
    );

  test("creates all of them if they were lost", async () => {
    const id = await activeServer();
    await leaveAllocations(id, []);
    expect(await allocationsOf(id)).toEqual({});
    expect(await heal()).toMatchObject({ rc: 0 });
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("adds those of the port if only the flavor's are left", async () => {
    const id = await activeServer();
    await leaveAllocations(id, ["node", "agent"]);
    expect(await heal()).toMatchObject({
      rc: 0,
      stdout: expect.stringContaining(`Successfully updated allocations for instance ${id}.`),
    });
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(await heal()).toMatchObject({ rc: 4 });
  });

  test("leaves those of the port out with --skip-port-allocations", async () => {
    const id = await activeServer();
    await leaveAllocations(id, []);
    expect(await heal({ skipPortAllocations: true })).toMatchObject({ rc: 0 });
    expect(Object.keys(await allocationsOf(id))).toEqual(["devstack1 node"]);
  });

  test("by force keeps those of the port, and removes those of a deleted port", async () => {
    const id = await activeServer();
    await heal({ force: true, instance: id });
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    await cloud.request("DELETE", `/network/v2.0/ports/${qosPort}`);
    await cloud.world.advance(5_000);
    await heal({ force: true, instance: id });
    expect(Object.keys(await allocationsOf(id))).toEqual(["devstack1 node"]);
  });
});

describe("resources of ports that nobody needs", () => {
  test("are removed by the agent of the host that the server is not on", async () => {
    runtimes.get("devstack2")?.kill();
    const sections = { ovs: OVS, compute: { reconcile_allocations: "repair", reconcile_interval: "300" } };
    await cloud.agent("devstack2", { process: "agent-devstack2-again", sections });
    const id = await activeServer();
    await replaceAllocations(id, Object.keys({ ...onHost("devstack1"), ...onHost("devstack2") }));
    expect(await allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
    await cloud.world.advance(600_000);
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("are found by an audit on the providers of bridges and agents", async () => {
    const consumer = "aaaaaaaa-0000-4000-8000-000000000001";
    const { bridge } = providers.get("devstack1") ?? expect.fail("there are no providers");
    const allocations = { [bridge]: { resources: { NET_BW_EGR_KILOBIT_PER_SEC: 100 } } };
    const owner = { project_id: "p", user_id: "u", consumer_type: "INSTANCE", consumer_generation: null };
    await placement("PUT", `/allocations/${consumer}`, { allocations, ...owner });
    const found = await cloud.manage((parts) => audit(parts, { delete: true, verbose: true }));
    expect(found).toMatchObject({ rc: 4, stdout: expect.stringContaining(consumer) });
    expect(await allocationsOf(consumer)).toEqual({});
  });
});

describe("a request for a server with ports that request resources", () => {
  test("is rejected below 2.72", async () => {
    const server = { name: "vm1", flavorRef: "1", imageRef: await cloud.image(), networks: [{ port: qosPort }] };
    await expect(cloud.compute("POST", "/servers", { server }, "2.71")).rejects.toThrow(
      '400 {"badRequest":{"code":400,"message":"Creating servers with ports having resource requests, like a port ' +
        "with a QoS minimum bandwidth policy, is not supported until microversion 2.72.",
    );
  });

  test("fails if a network's policy gives them to a new port, which is not kept", async () => {
    const policy = cloud.ports.get(qosPort)?.qosPolicyId;
    const uuid = await vlanNetwork();
    await network("PUT", `/networks/${uuid}`, { network: { qos_policy_id: policy } });
    const id = await create({ networks: [{ uuid }] });
    await cloud.serverIs(id, (server) => server?.status === "ERROR");
    expect((await cloud.server(id))?.fault).toMatchObject({
      code: 500,
      message: `Build of instance ${id} aborted: Failed to allocate the network(s), not rescheduling.`,
    });
    expect(cloud.ports.ofServer(id)).toEqual([]);
    expect(await allocationsOf(id)).toEqual({});
  });

  test("needs no group_policy in its flavor for several groups", async () => {
    const id = await create({ flavorRef: "1" });
    await active(id, "devstack1");
    expect(profile()).toEqual(profileOn("devstack1"));
  });
});

describe("a move of a server whose port requests resources", () => {
  test("takes them at the destination; a revert gives them back", async () => {
    const id = await activeServer();
    await act(id, { migrate: null });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    const [migration] = cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(await allocationsOf(migration?.uuid ?? "")).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack2"));
    await act(id, { revertResize: null });
    await active(id, "devstack1");
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(await allocationsOf(migration?.uuid ?? "")).toEqual({});
    expect(profile()).toEqual(profileOn("devstack1"));
  });

  test("by a resize leaves nothing at the source when it is confirmed", async () => {
    const id = await activeServer();
    await act(id, { resize: { flavorRef: await flavor({ vcpus: 2 }) } });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    await act(id, { confirmResize: null });
    await active(id, "devstack2");
    const { VCPU: _, ...node } = onHost("devstack2")["devstack2 node"] ?? {};
    expect(await allocationsOf(id)).toEqual({ ...onHost("devstack2"), "devstack2 node": { VCPU: 2, ...node } });
    const [migration] = cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await allocationsOf(migration?.uuid ?? "")).toEqual({});
    expect(profile()).toEqual(profileOn("devstack2"));
  });

  test("by a resize needs no group_policy in the new flavor", async () => {
    const id = await activeServer();
    await act(id, { resize: { flavorRef: "2" } });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    expect(profile()).toEqual(profileOn("devstack2"));
  });

  test("by an evacuation that finds no room leaves the server and its resources as they were", async () => {
    const id = await activeServer();
    runtimes.get("devstack1")?.kill();
    await cloud.compute("PUT", `/os-services/${await cloud.serviceId("devstack1")}`, { forced_down: true });
    faults
      .get("devstack2")
      ?.set(parseFaultRule("agent.evacuate_instance.claim=fail:ComputeResourcesUnavailable", AGENT_FAULTS));
    await act(id, { evacuate: {} });
    await cloud.serverIs(id, (server) => server?.["OS-EXT-STS:task_state"] === null);
    expect(cloud.store.migrations.byFilters({ instanceUuid: id })).toMatchObject([{ status: "failed" }]);
    expect(await cloud.server(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": "devstack1" });
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack1"));
  });

  test("by a live migration takes them at the destination, in the second binding too", async () => {
    const id = await activeServer();
    const slow = { kind: "slow", milliseconds: 20_000 } as const;
    faults.get("devstack1")?.set({ point: "driver.liveMigration", action: slow, times: 1 });
    await act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await cloud.world.advance(10_000);
    const profiles = cloud.ports.get(qosPort)?.bindings.map((binding) => binding.profile);
    expect(profiles).toEqual([profileOn("devstack1"), profileOn("devstack2")]);
    await active(id, "devstack2");
    await cloud.world.advance(5_000);
    expect(await allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(profile()).toEqual(profileOn("devstack2"));
  });

  test("by a live migration that fails leaves them at the source", async () => {
    const id = await activeServer();
    faults.get("devstack1")?.set({ point: "driver.liveMigration", action: { kind: "fail" }, times: null });
    await act(id, { "os-migrateLive": { host: null, block_migration: "auto" } });
    await cloud.serverIs(id, (server) => server?.status === "ERROR");
    await cloud.world.advance(5_000);
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack1"));
  });

  test("by an evacuation has those of both hosts until the source is back", async () => {
    const id = await activeServer();
    runtimes.get("devstack1")?.kill();
    const service = await cloud.serviceId("devstack1");
    await cloud.compute("PUT", `/os-services/${service}`, { forced_down: true });
    await act(id, { evacuate: { host: "devstack2" } });
    await active(id, "devstack2");
    expect(await allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
    expect(profile()).toEqual(profileOn("devstack2"));
    await start("devstack1", "agent-devstack1-again");
    await cloud.world.advance(60_000);
    expect(await allocationsOf(id)).toEqual(onHost("devstack2"));
    await cloud.compute("PUT", `/os-services/${service}`, { forced_down: false });
    await cloud.world.advance(60_000);
    expect(profile()).toEqual(profileOn("devstack2"));
  });

  test("back from an evacuation keeps what the dead host has not cleaned up", async () => {
    const id = await activeServer();
    runtimes.get("devstack1")?.kill();
    const service = await cloud.serviceId("devstack1");
    await cloud.compute("PUT", `/os-services/${service}`, { forced_down: true });
    await act(id, { evacuate: { host: "devstack2" } });
    await active(id, "devstack2");
    await start("devstack3");
    await findProviders("devstack3");
    await act(id, { migrate: { host: "devstack3" } });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    const [, migration] = cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await allocationsOf(migration?.uuid ?? "")).toEqual(onHost("devstack2"));
    expect(await allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack3") });
    await act(id, { revertResize: null });
    await active(id, "devstack2");
    expect(await allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
  });

  test("through shelving has none while it has no host", async () => {
    const id = await activeServer();
    await act(id, { shelve: null });
    await cloud.serverIs(id, (server) => server?.status === "SHELVED_OFFLOADED");
    expect(await allocationsOf(id)).toEqual({});
    expect(profile()).toEqual({});
    await act(id, { unshelve: { host: "devstack2" } });
    await active(id, "devstack2");
    expect(await allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(profile()).toEqual(profileOn("devstack2"));
  });
});

describe("an interface with a port that requests resources", () => {
  const attach = (id: string, port: string) =>
    cloud.compute("POST", `/servers/${id}/os-interface`, { interfaceAttachment: { port_id: port } });

  test("adds them to the server's allocations, and takes them away when it is detached", async () => {
    const id = await activeServer({ networks: "none" });
    await attach(id, qosPort);
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack1"));
    await act(id, { migrate: null });
    await cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    await act(id, { revertResize: null });
    await active(id, "devstack1");
    expect(profile()).toEqual(profileOn("devstack1"));
    await cloud.compute("DELETE", `/servers/${id}/os-interface/${qosPort}`);
    const { "devstack1 node": node } = onHost("devstack1");
    expect(await allocationsOf(id)).toEqual({ "devstack1 node": node });
    expect(profile()).toEqual({});
  });

  test("does not change the providers of the server's other ports", async () => {
    const id = await activeServer();
    const before = profile();
    await attach(id, await createQosPort({ bandwidth: 200 }));
    expect(await allocationsOf(id)).toMatchObject({ "devstack1 bridge": { NET_BW_EGR_KILOBIT_PER_SEC: 1200 } });
    expect(profile()).toEqual(before);
  });

  test("is rejected if the host has not enough of them", async () => {
    const id = await activeServer();
    const port = await createQosPort({ bandwidth: 1000 });
    await expect(attach(id, port)).rejects.toThrow(
      `400 {"badRequest":{"code":400,"message":"Failed to allocate additional resources to ${id} during interface attach"}}`,
    );
    expect(cloud.ports.get(port)).toMatchObject({ deviceId: "", profile: {} });
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("frees them if the server does not get the port", async () => {
    const id = await activeServer({ networks: "none" });
    const busy = attach(id, qosPort);
    const second = attach(id, qosPort);
    const results = await Promise.allSettled([busy, second]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("cannot be created on a network whose policy requests them", async () => {
    const id = await activeServer();
    const uuid = await vlanNetwork();
    await network("PUT", `/networks/${uuid}`, { network: { qos_policy_id: cloud.ports.get(qosPort)?.qosPolicyId } });
    const body = { interfaceAttachment: { net_id: uuid } };
    await expect(cloud.compute("POST", `/servers/${id}/os-interface`, body)).rejects.toThrow(
      `Using networks with QoS policy is not supported for instance ${id}. (Network ID is ${uuid})`,
    );
    expect(cloud.ports.ofServer(id)).toHaveLength(1);
  });

  test("leaves them to the server if a user deletes the port, until the server is deleted", async () => {
    const id = await activeServer();
    await cloud.request("DELETE", `/network/v2.0/ports/${qosPort}`);
    await cloud.world.advance(5_000);
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    await cloud.compute("DELETE", `/servers/${id}`);
    await cloud.serverIs(id, (server) => server === null);
    expect(await allocationsOf(id)).toEqual({});
  });
});

describe("a build with ports that request resources", () => {
  test("takes them on the next host if the first gives it back", async () => {
    // The scheduler prefers the host without servers.
    await activeServer({ networks: "none" });
    faults.get("devstack2")?.set({ point: "driver.spawn", action: { kind: "fail" }, times: null });
    const id = await create({ host: undefined });
    await active(id, "devstack1");
    expect(await allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(profile()).toEqual(profileOn("devstack1"));
  });
});
