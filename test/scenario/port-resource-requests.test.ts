import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { AGENT_FAULTS } from "../../src/cli/agent/agent-faults.js";
import { audit } from "../../src/control-plane/manage/audit.js";
import { type HealOptions, healAllocations } from "../../src/control-plane/manage/heal-allocations.js";
import { parseFaultRule } from "../../src/faults/faults.js";
import { OVS, onHost, QosCloud } from "../fixtures/qos-cloud.js";

let qos: QosCloud;

beforeEach(async () => {
  qos = await QosCloud.open();
});
afterEach(() => qos.close());

describe("the Open vSwitch agent of a host", () => {
  test("has a provider with its packet rate, and one with the bandwidth of each bridge", async () => {
    const { node, agent, bridge } = qos.providers.get("devstack1") ?? expect.fail("there are no providers");
    const show = async (uuid: string) => ({
      parent: (await qos.placement("GET", `/resource_providers/${uuid}`)).parent_provider_uuid,
      traits: (await qos.placement("GET", `/resource_providers/${uuid}/traits`)).traits,
      inventories: (await qos.placement("GET", `/resource_providers/${uuid}/inventories`)).inventories,
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

  test("keeps its qos.providers when the agent of the host starts without its options", async () => {
    const before = qos.providers.get("devstack1");
    qos.runtimes.get("devstack1")?.kill();
    await qos.cloud.agent("devstack1", { process: "agent-devstack1-again" });
    await qos.cloud.world.advance(600_000);
    await qos.findProviders("devstack1");
    expect(qos.providers.get("devstack1")).toEqual(before);
  });

  test("goes with its host", async () => {
    qos.runtimes.get("devstack1")?.kill();
    await qos.cloud.world.advance(120_000);
    await qos.cloud.compute("DELETE", `/os-services/${await qos.cloud.serviceId("devstack1")}`);
    const { resource_providers: left } = await qos.placement("GET", "/resource_providers");
    expect((left as { name: string }[]).filter(({ name }) => name.startsWith("devstack1"))).toEqual([]);
  });
});

describe("a server with a port that requests resources", () => {
  test("has them allocated with its own, and frees them when it is deleted", async () => {
    const id = await qos.activeServer();
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
    await qos.cloud.compute("DELETE", `/servers/${id}`);
    await qos.cloud.serverIs(id, (server) => server === null);
    expect(await qos.allocationsOf(id)).toEqual({});
    expect(qos.profile()).toEqual({});
  });

  test("is only built on a host with enough of them", async () => {
    await qos.activeServer();
    const port = await qos.createQosPort({ bandwidth: 1000 });
    const second = await qos.create({ networks: [{ port }], host: undefined });
    await qos.active(second, "devstack2");
    const third = await qos.create({
      networks: [{ port: await qos.createQosPort({ bandwidth: 1000 }) }],
      host: undefined,
    });
    await qos.cloud.serverIs(third, (server) => server?.status === "ERROR");
    expect((await qos.cloud.server(third))?.fault).toMatchObject({ message: expect.stringContaining("No valid host") });
  });
});

describe("healing the allocations of a server whose port requests resources", () => {
  const HEAL = { force: false, dryRun: false, verbose: true };
  const heal = (options: Partial<HealOptions> = {}) =>
    qos.cloud.manage((parts) => healAllocations(parts, { ...HEAL, ...options }));

  /** Leaves the server with the allocations on some qos.providers of its host. */
  const leaveAllocations = (id: string, kinds: readonly string[]) =>
    qos.replaceAllocations(
      id,
      kinds.map((kind) => `devstack1 ${kind}`),
    );

  test("creates all of them if they were lost", async () => {
    const id = await qos.activeServer();
    await leaveAllocations(id, []);
    expect(await qos.allocationsOf(id)).toEqual({});
    expect(await heal()).toMatchObject({ rc: 0 });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("adds those of the port if only the flavor's are left", async () => {
    const id = await qos.activeServer();
    await leaveAllocations(id, ["node", "agent"]);
    expect(await heal()).toMatchObject({
      rc: 0,
      stdout: expect.stringContaining(`Successfully updated allocations for instance ${id}.`),
    });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(await heal()).toMatchObject({ rc: 4 });
  });

  test("leaves those of the port out with --skip-port-allocations", async () => {
    const id = await qos.activeServer();
    await leaveAllocations(id, []);
    expect(await heal({ skipPortAllocations: true })).toMatchObject({ rc: 0 });
    expect(Object.keys(await qos.allocationsOf(id))).toEqual(["devstack1 node"]);
  });

  test("by force keeps those of the port, and removes those of a deleted port", async () => {
    const id = await qos.activeServer();
    await heal({ force: true, instance: id });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    await qos.cloud.request("DELETE", `/network/v2.0/ports/${qos.qosPort}`);
    await qos.cloud.world.advance(5_000);
    await heal({ force: true, instance: id });
    expect(Object.keys(await qos.allocationsOf(id))).toEqual(["devstack1 node"]);
  });
});

describe("resources of ports that nobody needs", () => {
  test("are removed by the agent of the host that the server is not on", async () => {
    qos.runtimes.get("devstack2")?.kill();
    const sections = { ovs: OVS, compute: { reconcile_allocations: "repair", reconcile_interval: "300" } };
    await qos.cloud.agent("devstack2", { process: "agent-devstack2-again", sections });
    const id = await qos.activeServer();
    await qos.replaceAllocations(id, Object.keys({ ...onHost("devstack1"), ...onHost("devstack2") }));
    expect(await qos.allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
    await qos.cloud.world.advance(600_000);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("are found by an audit on the qos.providers of bridges and agents", async () => {
    const consumer = "aaaaaaaa-0000-4000-8000-000000000001";
    const { bridge } = qos.providers.get("devstack1") ?? expect.fail("there are no providers");
    const allocations = { [bridge]: { resources: { NET_BW_EGR_KILOBIT_PER_SEC: 100 } } };
    const owner = { project_id: "p", user_id: "u", consumer_type: "INSTANCE", consumer_generation: null };
    await qos.placement("PUT", `/allocations/${consumer}`, { allocations, ...owner });
    const found = await qos.cloud.manage((parts) => audit(parts, { delete: true, verbose: true }));
    expect(found).toMatchObject({ rc: 4, stdout: expect.stringContaining(consumer) });
    expect(await qos.allocationsOf(consumer)).toEqual({});
  });
});

describe("a request for a server with ports that request resources", () => {
  test("is rejected below 2.72", async () => {
    const server = {
      name: "vm1",
      flavorRef: "1",
      imageRef: await qos.cloud.image(),
      networks: [{ port: qos.qosPort }],
    };
    await expect(qos.cloud.compute("POST", "/servers", { server }, "2.71")).rejects.toThrow(
      '400 {"badRequest":{"code":400,"message":"Creating servers with ports having resource requests, like a port ' +
        "with a QoS minimum bandwidth policy, is not supported until microversion 2.72.",
    );
  });

  test("fails if a network's policy gives them to a new port, which is not kept", async () => {
    const policy = qos.cloud.ports.get(qos.qosPort)?.qosPolicyId;
    const uuid = await qos.vlanNetwork();
    await qos.network("PUT", `/networks/${uuid}`, { network: { qos_policy_id: policy } });
    const id = await qos.create({ networks: [{ uuid }] });
    await qos.cloud.serverIs(id, (server) => server?.status === "ERROR");
    expect((await qos.cloud.server(id))?.fault).toMatchObject({
      code: 500,
      message: `Build of instance ${id} aborted: Failed to allocate the network(s), not rescheduling.`,
    });
    expect(qos.cloud.ports.ofServer(id)).toEqual([]);
    expect(await qos.allocationsOf(id)).toEqual({});
  });

  test("needs no group_policy in its flavor for several groups", async () => {
    const id = await qos.create({ flavorRef: "1" });
    await qos.active(id, "devstack1");
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });
});

describe("V39 a move of a server whose port requests resources", () => {
  test("takes them at the destination; a revert gives them back", async () => {
    const id = await qos.activeServer();
    await qos.act(id, { migrate: null });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    const [migration] = qos.cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(await qos.allocationsOf(migration?.uuid ?? "")).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
    await qos.act(id, { revertResize: null });
    await qos.active(id, "devstack1");
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(await qos.allocationsOf(migration?.uuid ?? "")).toEqual({});
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });

  test("by a resize leaves nothing at the source when it is confirmed", async () => {
    const id = await qos.activeServer();
    await qos.act(id, { resize: { flavorRef: await qos.flavor({ vcpus: 2 }) } });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    await qos.act(id, { confirmResize: null });
    await qos.active(id, "devstack2");
    const { VCPU: _, ...node } = onHost("devstack2")["devstack2 node"] ?? {};
    expect(await qos.allocationsOf(id)).toEqual({ ...onHost("devstack2"), "devstack2 node": { VCPU: 2, ...node } });
    const [migration] = qos.cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await qos.allocationsOf(migration?.uuid ?? "")).toEqual({});
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
  });

  test("by a resize needs no group_policy in the new flavor", async () => {
    const id = await qos.activeServer();
    await qos.act(id, { resize: { flavorRef: "2" } });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
  });

  test("by an evacuation that finds no room leaves the server and its resources as they were", async () => {
    const id = await qos.activeServer();
    qos.runtimes.get("devstack1")?.kill();
    await qos.cloud.compute("PUT", `/os-services/${await qos.cloud.serviceId("devstack1")}`, { forced_down: true });
    qos.faults
      .get("devstack2")
      ?.set(parseFaultRule("agent.evacuate_instance.claim=fail:ComputeResourcesUnavailable", AGENT_FAULTS));
    await qos.act(id, { evacuate: {} });
    await qos.cloud.serverIs(id, (server) => server?.["OS-EXT-STS:task_state"] === null);
    expect(qos.cloud.store.migrations.byFilters({ instanceUuid: id })).toMatchObject([{ status: "failed" }]);
    expect(await qos.cloud.server(id)).toMatchObject({ status: "ACTIVE", "OS-EXT-SRV-ATTR:host": "devstack1" });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });

  test("by a live migration takes them at the destination, in the second binding too", async () => {
    const id = await qos.activeServer();
    const slow = { kind: "slow", milliseconds: 20_000 } as const;
    qos.faults.get("devstack1")?.set({ point: "driver.liveMigration", action: slow, times: 1 });
    await qos.act(id, { "os-migrateLive": { host: "devstack2", block_migration: "auto" } });
    await qos.cloud.world.advance(10_000);
    const profiles = qos.cloud.ports.get(qos.qosPort)?.bindings.map((binding) => binding.profile);
    expect(profiles).toEqual([qos.profileOn("devstack1"), qos.profileOn("devstack2")]);
    await qos.active(id, "devstack2");
    await qos.cloud.world.advance(5_000);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
  });

  test("by a live migration that fails leaves them at the source", async () => {
    const id = await qos.activeServer();
    qos.faults.get("devstack1")?.set({ point: "driver.liveMigration", action: { kind: "fail" }, times: null });
    await qos.act(id, { "os-migrateLive": { host: null, block_migration: "auto" } });
    await qos.cloud.serverIs(id, (server) => server?.status === "ERROR");
    await qos.cloud.world.advance(5_000);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });

  test("by an evacuation has those of both hosts until the source is back", async () => {
    const id = await qos.activeServer();
    qos.runtimes.get("devstack1")?.kill();
    const service = await qos.cloud.serviceId("devstack1");
    await qos.cloud.compute("PUT", `/os-services/${service}`, { forced_down: true });
    await qos.act(id, { evacuate: { host: "devstack2" } });
    await qos.active(id, "devstack2");
    expect(await qos.allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
    await qos.start("devstack1", "agent-devstack1-again");
    await qos.cloud.world.advance(60_000);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack2"));
    await qos.cloud.compute("PUT", `/os-services/${service}`, { forced_down: false });
    await qos.cloud.world.advance(60_000);
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
  });

  test("back from an evacuation keeps what the dead host has not cleaned up", async () => {
    const id = await qos.activeServer();
    qos.runtimes.get("devstack1")?.kill();
    const service = await qos.cloud.serviceId("devstack1");
    await qos.cloud.compute("PUT", `/os-services/${service}`, { forced_down: true });
    await qos.act(id, { evacuate: { host: "devstack2" } });
    await qos.active(id, "devstack2");
    await qos.start("devstack3");
    await qos.findProviders("devstack3");
    await qos.act(id, { migrate: { host: "devstack3" } });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    const [, migration] = qos.cloud.store.migrations.byFilters({ instanceUuid: id });
    expect(await qos.allocationsOf(migration?.uuid ?? "")).toEqual(onHost("devstack2"));
    expect(await qos.allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack3") });
    await qos.act(id, { revertResize: null });
    await qos.active(id, "devstack2");
    expect(await qos.allocationsOf(id)).toEqual({ ...onHost("devstack1"), ...onHost("devstack2") });
  });

  test("through shelving has none while it has no host", async () => {
    const id = await qos.activeServer();
    await qos.act(id, { shelve: null });
    await qos.cloud.serverIs(id, (server) => server?.status === "SHELVED_OFFLOADED");
    expect(await qos.allocationsOf(id)).toEqual({});
    expect(qos.profile()).toEqual({});
    await qos.act(id, { unshelve: { host: "devstack2" } });
    await qos.active(id, "devstack2");
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack2"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack2"));
  });
});

describe("an interface with a port that requests resources", () => {
  const attach = (id: string, port: string) =>
    qos.cloud.compute("POST", `/servers/${id}/os-interface`, { interfaceAttachment: { port_id: port } });

  test("adds them to the server's allocations, and takes them away when it is detached", async () => {
    const id = await qos.activeServer({ networks: "none" });
    await attach(id, qos.qosPort);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
    await qos.act(id, { migrate: null });
    await qos.cloud.serverIs(id, (server) => server?.status === "VERIFY_RESIZE");
    await qos.act(id, { revertResize: null });
    await qos.active(id, "devstack1");
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
    await qos.cloud.compute("DELETE", `/servers/${id}/os-interface/${qos.qosPort}`);
    const { "devstack1 node": node } = onHost("devstack1");
    expect(await qos.allocationsOf(id)).toEqual({ "devstack1 node": node });
    expect(qos.profile()).toEqual({});
    const { instanceActions } = (await qos.cloud.compute("GET", `/servers/${id}/os-instance-actions`)).json;
    const [{ request_id: request }] = instanceActions as [{ request_id: string }];
    const details = (await qos.cloud.compute("GET", `/servers/${id}/os-instance-actions/${request}`)).json;
    expect(details.instanceAction).toMatchObject({
      action: "detach_interface",
      events: [{ event: "compute_detach_interface", result: "Success" }],
    });
  });

  test("does not change the qos.providers of the server's other ports", async () => {
    const id = await qos.activeServer();
    const before = qos.profile();
    await attach(id, await qos.createQosPort({ bandwidth: 200 }));
    expect(await qos.allocationsOf(id)).toMatchObject({ "devstack1 bridge": { NET_BW_EGR_KILOBIT_PER_SEC: 1200 } });
    expect(qos.profile()).toEqual(before);
  });

  test("is rejected if the host has not enough of them", async () => {
    const id = await qos.activeServer();
    const port = await qos.createQosPort({ bandwidth: 1000 });
    await expect(attach(id, port)).rejects.toThrow(
      `400 {"badRequest":{"code":400,"message":"Failed to allocate additional resources to ${id} during interface attach"}}`,
    );
    expect(qos.cloud.ports.get(port)).toMatchObject({ deviceId: "", profile: {} });
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("frees them if the server does not get the port", async () => {
    const id = await qos.activeServer({ networks: "none" });
    const busy = attach(id, qos.qosPort);
    const second = attach(id, qos.qosPort);
    const results = await Promise.allSettled([busy, second]);
    expect(results.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
  });

  test("cannot be created on a network whose policy requests them", async () => {
    const id = await qos.activeServer();
    const uuid = await qos.vlanNetwork();
    await qos.network("PUT", `/networks/${uuid}`, {
      network: { qos_policy_id: qos.cloud.ports.get(qos.qosPort)?.qosPolicyId },
    });
    const body = { interfaceAttachment: { net_id: uuid } };
    await expect(qos.cloud.compute("POST", `/servers/${id}/os-interface`, body)).rejects.toThrow(
      `Using networks with QoS policy is not supported for instance ${id}. (Network ID is ${uuid})`,
    );
    expect(qos.cloud.ports.ofServer(id)).toHaveLength(1);
  });

  test("leaves them to the server if a user deletes the port, until the server is deleted", async () => {
    const id = await qos.activeServer();
    await qos.cloud.request("DELETE", `/network/v2.0/ports/${qos.qosPort}`);
    await qos.cloud.world.advance(5_000);
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    await qos.cloud.compute("DELETE", `/servers/${id}`);
    await qos.cloud.serverIs(id, (server) => server === null);
    expect(await qos.allocationsOf(id)).toEqual({});
  });
});

describe("a build with ports that request resources", () => {
  test("takes them on the next host if the first gives it back", async () => {
    // The scheduler prefers the host without servers.
    await qos.activeServer({ networks: "none" });
    qos.faults.get("devstack2")?.set({ point: "driver.spawn", action: { kind: "fail" }, times: null });
    const id = await qos.create({ host: undefined });
    await qos.active(id, "devstack1");
    expect(await qos.allocationsOf(id)).toEqual(onHost("devstack1"));
    expect(qos.profile()).toEqual(qos.profileOn("devstack1"));
  });
});
