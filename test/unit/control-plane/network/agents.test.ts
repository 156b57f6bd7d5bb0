import { describe, expect, test } from "vitest";
import { isHostAlive } from "../../../../src/control-plane/network/agents/agents.js";
import type { Service } from "../../../../src/records/index.js";
import { type Body, NetworkHarness } from "./network-harness.js";

const UNKNOWN = "00000000-0000-4000-8000-000000000000";

/** Creates the services of compute hosts. */
function createHosts(network: NetworkHarness, ...hosts: readonly string[]): readonly Service[] {
  return hosts.map((host) =>
    network.store.services.create({ host, binary: "nova-compute", topic: "compute", version: 66 }),
  );
}

async function findAgent(network: NetworkHarness, query: string): Promise<Body & { readonly id: string }> {
  const [agent] = await network.list(`/agents?${query}`, "admin");
  return { ...agent, id: String(agent?.id) };
}

describe("agents", () => {
  test("are an Open vSwitch agent of each host, and the other kinds of the first", async () => {
    const network = new NetworkHarness();
    const [first, second] = createHosts(network, "host1", "host2");
    const agents = await network.list("/agents", "admin");
    expect(
      agents.map(({ agent_type, binary, topic, host, availability_zone: zone }) => [
        agent_type,
        binary,
        topic,
        host,
        zone,
      ]),
    ).toEqual([
      ["Open vSwitch agent", "neutron-openvswitch-agent", "N/A", "host1", null],
      ["Open vSwitch agent", "neutron-openvswitch-agent", "N/A", "host2", null],
      ["DHCP agent", "neutron-dhcp-agent", "dhcp_agent", "host1", "nova"],
      ["L3 agent", "neutron-l3-agent", "l3_agent", "host1", "nova"],
      ["Metadata agent", "neutron-metadata-agent", "N/A", "host1", null],
      ["Metering agent", "neutron-metering-agent", "metering_agent", "host1", null],
    ]);
    expect(agents[0]).toMatchObject({
      id: first?.uuid,
      admin_state_up: true,
      alive: true,
      description: null,
      resources_synced: null,
      configurations: {
        bridge_mappings: { physnet1: "br-phys", public: "br-ex" },
        tunnel_types: ["vxlan", "gre", "geneve"],
      },
    });
    expect(agents[0]?.heartbeat_timestamp).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/);
    expect(agents[1]?.id).toBe(second?.uuid);
    expect(new Set(agents.map(({ id }) => id)).size).toBe(6);
  });

  test("are alive while their host sends heartbeats", async () => {
    const network = new NetworkHarness();
    const [first, second] = createHosts(network, "host1", "host2");
    await network.advance(61_000);
    network.store.services.reportState(second?.id ?? 0);
    const hosts = async (query: string) => (await network.list(`/agents?${query}`, "admin")).map(({ host }) => host);
    expect(await hosts("alive=True")).toEqual(["host2"]);
    expect(await hosts("alive=False&agent_type=Open%20vSwitch%20agent")).toEqual(["host1"]);
    expect(await network.get("GET", `/agents/${first?.uuid}`, undefined, "admin")).toMatchObject({ alive: false });
    expect(["host1", "host2", "host3"].map((host) => isHostAlive(network.context, host))).toEqual([false, true, false]);
    network.store.services.update(second?.id ?? 0, { forcedDown: true });
    expect(isHostAlive(network.context, "host2")).toBe(false);
  });

  test.each([
    ["host=host2", 1],
    ["binary=neutron-l3-agent", 1],
    ["availability_zone=nova", 2],
    ["admin_state_up=False", 0],
  ])("are found by %s", async (query, count) => {
    const network = new NetworkHarness();
    createHosts(network, "host1", "host2");
    expect(await network.list(`/agents?${query}`, "admin")).toHaveLength(count);
  });

  test("are listed without pages", async () => {
    const network = new NetworkHarness();
    createHosts(network, "host1");
    const reply = await network.send("GET", "/agents?limit=1&sort_key=host&sort_dir=asc", undefined, "admin");
    expect(reply.json("agents")).toHaveLength(5);
    expect(reply.json()).not.toHaveProperty("agents_links");
  });

  test("can be disabled and described", async () => {
    const network = new NetworkHarness();
    createHosts(network, "host1");
    for (const query of ["agent_type=DHCP%20agent", "agent_type=Open%20vSwitch%20agent"]) {
      const { id } = await findAgent(network, query);
      const changes = { admin_state_up: false, description: "in repair" };
      expect(await network.get("PUT", `/agents/${id}`, { agent: changes }, "admin")).toMatchObject(changes);
      expect(await findAgent(network, `${query}&admin_state_up=False`)).toMatchObject({ id, ...changes });
    }
    const { id } = await findAgent(network, "agent_type=L3%20agent");
    expect(await network.rejection("PUT", `/agents/${id}`, { agent: { host: "x" } }, "admin")).toBe(
      "400 HTTPBadRequest: Cannot update read-only attribute host",
    );
  });

  test("that are deleted return with the next heartbeat of their host", async () => {
    const network = new NetworkHarness();
    const [service] = createHosts(network, "host1");
    const url = `/agents/${service?.uuid}`;
    await network.get("DELETE", url, undefined, "admin");
    expect(await network.rejection("GET", url, undefined, "admin")).toBe(
      `404 AgentNotFound: Agent ${service?.uuid} could not be found.`,
    );
    expect(isHostAlive(network.context, "host1")).toBe(false);
    await network.advance(10_000);
    network.store.services.reportState(service?.id ?? 0);
    expect(await network.get("GET", url, undefined, "admin")).toMatchObject({ alive: true });
  });

  test("are for administrators", async () => {
    const network = new NetworkHarness();
    const [service] = createHosts(network, "host1");
    expect(await network.list("/agents")).toEqual([]);
    expect(await network.rejection("GET", `/agents/${service?.uuid}`)).toBe(
      "404 HTTPNotFound: The resource could not be found.",
    );
  });
});

test("availability zones are those of the agents for networks and routers", async () => {
  const network = new NetworkHarness();
  expect(await network.list("/availability_zones")).toEqual([]);
  createHosts(network, "host1", "host2");
  expect(await network.list("/availability_zones")).toEqual([
    { name: "nova", resource: "network", state: "available" },
    { name: "nova", resource: "router", state: "available" },
  ]);
  expect(await network.list("/availability_zones?resource=router")).toHaveLength(1);
});

describe("a DHCP agent", () => {
  async function createHarness() {
    const network = new NetworkHarness();
    createHosts(network, "host1");
    const agent = await findAgent(network, "agent_type=DHCP%20agent");
    const { id } = await network.get("POST", "/networks", { network: { name: "n" } });
    return { network, agent, id, url: `/agents/${agent.id}/dhcp-networks` };
  }

  test("serves networks with subnets", async () => {
    const { network, agent, id, url } = await createHarness();
    expect(await network.list(url, "admin")).toEqual([]);
    await network.get("POST", "/subnets", { subnet: { network_id: id, ip_version: 4, cidr: "10.0.0.0/24" } });
    expect(await network.list(url, "admin")).toMatchObject([{ id, name: "n" }]);
    expect(await network.list(`/networks/${id}/dhcp-agents`, "admin")).toMatchObject([
      { id: agent.id, agent_type: "DHCP agent", resource_versions: {} },
    ]);
    expect(await network.get("GET", `/networks/${id}`)).toMatchObject({ availability_zones: ["nova"] });
  });

  test("gets and loses networks by request", async () => {
    const { network, id, url } = await createHarness();
    const add = ["POST", url, { network_id: id }, "admin"] as const;
    expect((await network.send(...add)).status).toBe(201);
    expect(await network.rejection(...add)).toMatch(/^409 NetworkHostedByDHCPAgent: The network .* has been already/);
    expect(await network.list(url, "admin")).toMatchObject([{ id }]);
    expect((await network.send("DELETE", `${url}/${id}`, undefined, "admin")).status).toBe(204);
    expect(await network.rejection("DELETE", `${url}/${id}`, undefined, "admin")).toMatch(
      /^409 NetworkNotHostedByDhcpAgent: The network .* is not hosted by the DHCP Agent/,
    );
  });

  test("is needed for networks", async () => {
    const { network, id, url } = await createHarness();
    const other = await findAgent(network, "agent_type=L3%20agent");
    const body = { network_id: id };
    expect(await network.rejection("POST", `/agents/${other.id}/dhcp-networks`, body, "admin")).toBe(
      `404 InvalidDHCPAgent: Agent ${other.id} is not a valid DHCP Agent or has been disabled.`,
    );
    expect(await network.rejection("POST", `/agents/${UNKNOWN}/dhcp-networks`, body, "admin")).toContain(
      "AgentNotFound",
    );
    expect(await network.rejection("POST", url, { network_id: UNKNOWN }, "admin")).toContain("404 NetworkNotFound");
    expect(await network.rejection("POST", url, body)).toBe(
      "403 PolicyNotAuthorized: rule:create_dhcp-network is disallowed by policy",
    );
    expect(await network.rejection("GET", `/networks/${id}/dhcp-agents`)).toBe(
      "403 PolicyNotAuthorized: rule:get_dhcp-agents is disallowed by policy",
    );
  });
});

test("an L3 agent gets and loses routers by request", async () => {
  const network = new NetworkHarness();
  createHosts(network, "host1");
  const agent = await findAgent(network, "agent_type=L3%20agent");
  const router = await network.get("POST", "/routers", { router: { name: "r" } });
  const url = `/agents/${agent.id}/l3-routers`;
  const body = { router_id: router.id };
  expect((await network.send("POST", url, body, "admin")).status).toBe(201);
  expect((await network.send("POST", url, body, "admin")).status).toBe(201);
  expect(await network.list(url, "admin")).toMatchObject([{ id: router.id, name: "r" }]);
  expect(await network.list(`/routers/${router.id}/l3-agents`, "admin")).toMatchObject([
    { id: agent.id, ha_state: null },
  ]);
  expect((await network.send("DELETE", `${url}/${router.id}`, undefined, "admin")).status).toBe(204);
  expect(await network.list(url, "admin")).toEqual([]);
  expect(await network.rejection("POST", url, { router_id: UNKNOWN }, "admin")).toContain("404 RouterNotFound");
  const dhcp = await findAgent(network, "agent_type=DHCP%20agent");
  expect(await network.rejection("POST", `/agents/${dhcp.id}/l3-routers`, body, "admin")).toBe(
    `404 InvalidL3Agent: Agent ${dhcp.id} is not a L3 Agent or has been disabled`,
  );
});
