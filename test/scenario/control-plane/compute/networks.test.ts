import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { NETWORK_ID as NETWORK } from "../../../fixtures/test-network.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";
import { attachPorts, createGroup, createPort } from "../../../unit/control-plane/compute/network-records.js";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

function ask(method: string, path: string, body?: unknown, version = 35): Promise<Reply> {
  return world.ask({ method, url: `/compute/v2.1${path}`, body, version });
}

function create(server: Record<string, unknown>, version = 42, more: Record<string, unknown> = {}): Promise<Reply> {
  const fullServer = { name: "vm1", flavorRef: "1", imageRef: CIRROS, ...server };
  return ask("POST", "/servers", { server: fullServer, ...more }, version);
}

/** Creates a server and returns the ports in its build task. */
async function getRequestedPorts(server: Record<string, unknown>, version = 42) {
  expect((await create(server, version)).status).toBe(202);
  const [task] = world.tasks();
  return task?.kind === "build_instances" ? task.ports : undefined;
}

const group = (name: string, as: "admin" | "demo" = "admin"): Promise<string> => createGroup(world, name, as);
const userPort = (as: "admin" | "demo" = "admin"): Promise<string> => createPort(world, {}, as);
const portsOf = ({ uuid }: Pick<Instance, "uuid">) => world.network.ports.ofServer(uuid);

/** Creates a server with one port on a host. */
function networked(...groups: readonly string[]): Instance {
  const instance = world.server("devstack1");
  attachPorts(world, instance, [NETWORK], groups);
  return instance;
}

describe("create", () => {
  test.each([
    ["auto", { networks: "auto" }, 42, [{ network: NETWORK }]],
    ["none", { networks: "none" }, 42, undefined],
    ["an empty list", { networks: [] }, 42, [{ network: NETWORK }]],
    ["nothing, while that was allowed", {}, 36, [{ network: NETWORK }]],
    ["the network", { networks: [{ uuid: NETWORK }] }, 42, [{ network: NETWORK }]],
    [
      "the network twice, with a tag",
      { networks: [{ uuid: NETWORK, tag: "nic1" }, { uuid: NETWORK }] },
      42,
      [{ network: NETWORK, tag: "nic1" }, { network: NETWORK }],
    ],
    [
      "an address",
      { networks: [{ uuid: NETWORK, fixed_ip: "10.0.0.7" }] },
      42,
      [{ network: NETWORK, address: "10.0.0.7" }],
    ],
  ])("with %s", async (_what, server, version, ports) => {
    expect(await getRequestedPorts(server, version)).toEqual(ports);
  });

  test("with a port of the project", async () => {
    const port = await userPort();
    expect(await getRequestedPorts({ networks: [{ port }] })).toEqual([{ port }]);
  });

  test("with security groups by name and id, by default with the group default", async () => {
    const [web, ssh] = [await group("web"), await group("ssh")];
    const [fallback] = world.network.securityGroups.find(world.projectId("admin"), "default");
    const groupsOf = async (names?: readonly string[]) => {
      const named = names ? { security_groups: names.map((name) => ({ name })) } : {};
      await create({ networks: "auto", ...named });
      const task = world.tasks().at(-1);
      return task?.kind === "build_instances" ? task.securityGroups : undefined;
    };
    expect(await groupsOf()).toEqual([fallback?.id]);
    expect(await groupsOf(["web", ssh, "web", "default"])).toEqual([web, ssh, fallback?.id]);
    const twice = await group("web");
    expect((await create({ networks: "auto", security_groups: [{ name: "web" }] })).status).toBe(409);
    expect(await groupsOf([twice])).toEqual([twice]);
  });

  test("rejects resources of other projects", async () => {
    const foreign = await group("theirs", "demo");
    const reply = await create({ networks: "auto", security_groups: [{ name: foreign }] });
    expect([reply.status, reply.message]).toEqual([
      400,
      `Security group ${foreign} not found for project ${world.projectId("admin")}.`,
    ]);
    const token = await world.token("demo");
    const port = await userPort();
    const server = { name: "vm1", flavorRef: "1", imageRef: CIRROS, networks: [{ port }] };
    const asDemo = await world.ask({
      method: "POST",
      url: "/compute/v2.1/servers",
      version: 42,
      body: { server },
      token,
    });
    expect([asDemo.status, asDemo.message]).toEqual([400, `Port id ${port} could not be found.`]);
    expect(world.tasks()).toEqual([]);
  });

  test.each([
    ["an unknown network", { networks: [{ uuid: CIRROS }] }, 400, /Network .* could not be found/],
    ["no network", { networks: [{}] }, 400, /missing 'uuid'/],
    ["an address for two", { networks: [{ uuid: NETWORK, fixed_ip: "10.0.0.7" }], max_count: 2 }, 400, /max_count/],
    ["a port for two", { networks: [{ port: CIRROS }], max_count: 2 }, 400, /with a single configured port ID/],
    ["a port twice", { networks: [{ port: CIRROS }, { port: CIRROS }] }, 400, /was specified twice/],
  ])("with %s is rejected", async (_what, server, status, message) => {
    const reply = await create(server);
    expect(reply.status).toBe(status);
    expect(reply.message).toMatch(message);
  });

  test("with a port or address in use is rejected", async () => {
    const instance = networked();
    const [port] = portsOf(instance);
    const byPort = await create({ networks: [{ port: port?.id }] });
    expect([byPort.status, byPort.message]).toEqual([409, `Port ${port?.id} is still in use.`]);
    const byAddress = await create({ networks: [{ uuid: NETWORK, fixed_ip: "10.0.0.2" }] });
    expect([byAddress.status, byAddress.message]).toEqual([
      400,
      `Fixed IP address 10.0.0.2 is already in use on instance ${instance.uuid}.`,
    ]);
    const both = await create({ networks: [{ port: await userPort(), fixed_ip: "10.0.0.9" }] });
    expect(both.status).toBe(400);
  });
});

describe("a server's addresses", () => {
  test("are returned with its groups; the response of PUT before 2.75 omits extensions", async () => {
    const { uuid } = networked(await group("web"));
    const address = {
      version: 4,
      addr: "10.0.0.2",
      "OS-EXT-IPS:type": "fixed",
      "OS-EXT-IPS-MAC:mac_addr": expect.stringMatching(/^fa:16:3e/),
    };
    const serverView = (await ask("GET", `/servers/${uuid}`)).json("server");
    expect(serverView).toMatchObject({ addresses: { private: [address] }, security_groups: [{ name: "web" }] });
    const listed = (await ask("GET", "/servers/detail")).json("servers", 0);
    expect(listed).toMatchObject({ addresses: { private: [address] }, security_groups: [{ name: "web" }] });
    const changed = (await ask("PUT", `/servers/${uuid}`, { server: { name: "vm2" } }, 74)).json("server");
    expect(changed).toMatchObject({ addresses: { private: [{ version: 4, addr: "10.0.0.2" }] } });
    expect(changed).not.toHaveProperty("security_groups");
    expect((changed as { addresses: { private: object[] } }).addresses.private[0]).not.toHaveProperty(
      "OS-EXT-IPS:type",
    );
  });

  test("are empty without a network", async () => {
    const { uuid } = world.server("devstack1");
    const serverView = (await ask("GET", `/servers/${uuid}`)).json("server");
    expect(serverView).toMatchObject({ addresses: {} });
    expect(serverView).not.toHaveProperty("security_groups");
  });

  test("are returned by network", async () => {
    const { uuid } = networked();
    const plain = { private: [{ version: 4, addr: "10.0.0.2" }] };
    expect((await ask("GET", `/servers/${uuid}/ips`)).json()).toEqual({ addresses: plain });
    expect((await ask("GET", `/servers/${uuid}/ips/private`)).json()).toEqual(plain);
    const other = await ask("GET", `/servers/${uuid}/ips/public`);
    expect([other.status, other.message]).toEqual([404, "Instance is not a member of specified network"]);
  });

  test("filter lists", async () => {
    const { uuid } = networked();
    networked();
    const found = async (ip: string) =>
      ((await ask("GET", `/servers?ip=${ip}`)).json("servers") as { id: string }[]).map(({ id }) => id);
    expect(await found("10.0.0.2")).toEqual([uuid]);
    expect(await found("10.0.0.")).toHaveLength(2);
    expect(await found("192")).toEqual([]);
  });
});

describe("interfaces", () => {
  const attach = (uuid: string, body?: object, version = 49) =>
    ask("POST", `/servers/${uuid}/os-interface`, body && { interfaceAttachment: body }, version);

  test("are listed and returned by id", async () => {
    const instance = networked();
    const [port] = portsOf(instance);
    const view = { net_id: NETWORK, port_id: port?.id, mac_addr: port?.macAddress, port_state: "DOWN" };
    const listed = await ask("GET", `/servers/${instance.uuid}/os-interface`);
    expect(listed.json("interfaceAttachments")).toMatchObject([{ ...view, fixed_ips: [{ ip_address: "10.0.0.2" }] }]);
    const one = await ask("GET", `/servers/${instance.uuid}/os-interface/${port?.id}`, undefined, 70);
    expect(one.json("interfaceAttachment")).toMatchObject({ ...view, tag: null });
    const other = world.server("devstack1");
    expect((await ask("GET", `/servers/${other.uuid}/os-interface/${port?.id}`)).status).toBe(404);
  });

  test("are attached by network, address and port, and detached", async () => {
    const { uuid } = world.server("devstack1");
    expect((await attach(uuid)).status).toBe(200);
    const fixed = await attach(uuid, { net_id: NETWORK, fixed_ips: [{ ip_address: "10.0.0.9" }], tag: "n" });
    expect(fixed.json("interfaceAttachment", "fixed_ips", 0)).toMatchObject({ ip_address: "10.0.0.9" });
    const own = await userPort();
    expect((await attach(uuid, { port_id: own })).status).toBe(200);
    expect(portsOf({ uuid })).toHaveLength(3);
    expect((await ask("DELETE", `/servers/${uuid}/os-interface/${own}`)).status).toBe(202);
    expect(world.network.ports.get(own)).toMatchObject({ deviceId: "" });
    const made = String(fixed.json("interfaceAttachment", "port_id"));
    expect((await ask("DELETE", `/servers/${uuid}/os-interface/${made}`)).status).toBe(202);
    expect(world.network.ports.get(made)).toBeUndefined();
    expect((await ask("DELETE", `/servers/${uuid}/os-interface/${made}`)).status).toBe(404);
  });

  test("are rejected as in Nova", async () => {
    const { uuid } = networked();
    const [taken] = portsOf({ uuid });
    const attachments: [object, number][] = [
      [{ net_id: NETWORK, port_id: CIRROS }, 400],
      [{ fixed_ips: [{ ip_address: "10.0.0.9" }] }, 400],
      [{ net_id: CIRROS }, 404],
      [{ port_id: CIRROS }, 404],
      [{ port_id: taken?.id }, 409],
      [{ net_id: NETWORK, fixed_ips: [{ ip_address: "10.0.0.2" }] }, 409],
      [{ net_id: NETWORK, fixed_ips: [{ ip_address: "192.0.2.1" }] }, 400],
    ];
    for (const [body, status] of attachments) {
      expect((await attach(uuid, body)).status, JSON.stringify(body)).toBe(status);
    }
    const rescued = world.server("devstack1", { vmState: "rescued" });
    expect((await attach(rescued.uuid)).status).toBe(409);
    expect(portsOf({ uuid })).toHaveLength(1);
    expect(portsOf(rescued)).toEqual([]);
  });
});

describe("security groups of a server", () => {
  test("are added and removed", async () => {
    const [web, instance] = [await group("web"), networked(await group("ssh"))];
    const names = async () =>
      (
        (await ask("GET", `/servers/${instance.uuid}/os-security-groups`)).json("security_groups") as { name: string }[]
      ).map(({ name }) => name);
    expect((await world.act(instance, { addSecurityGroup: { name: "web" } })).status).toBe(202);
    expect(await names()).toEqual(["ssh", "web"]);
    expect((await world.act(instance, { removeSecurityGroup: { name: web } })).status).toBe(202);
    expect(await names()).toEqual(["ssh"]);
    expect((await world.act(instance, { removeSecurityGroup: { name: "web" } })).status).toBe(404);
  });

  test.each([
    [{ name: "gone" }, 404],
    [{ name: " " }, 400],
    [{}, 400],
    [null, 400],
  ])("%j is rejected", async (body, status) => {
    expect((await world.act(networked(), { addSecurityGroup: body })).status).toBe(status);
  });

  test("cannot be added to a server without ports", async () => {
    await group("web");
    const reply = await world.act(world.server("devstack1"), { addSecurityGroup: { name: "web" } });
    expect(reply.status).toBe(404);
  });
});

describe("the proxies", () => {
  test.each(["os-networks", "os-tenant-networks", "os-security-groups", "os-floating-ips", "os-floating-ip-pools"])(
    "%s ends with 2.35",
    async (name) => {
      expect((await ask("GET", `/${name}`)).status).toBe(200);
      expect((await ask("GET", `/${name}`, undefined, 36)).status).toBe(404);
    },
  );

  test("return the flat network", async () => {
    expect((await ask("GET", "/os-networks")).json("networks")).toMatchObject([
      { id: NETWORK, label: "private", cidr: null },
    ]);
    expect((await ask("GET", `/os-tenant-networks/${NETWORK}`)).json("network")).toEqual({
      id: NETWORK,
      label: "private",
      cidr: "None",
    });
    expect((await ask("GET", `/os-networks/${CIRROS}`)).status).toBe(404);
  });

  test.each([
    ["/os-networks", { network: {} }],
    ["/os-networks/add", { id: NETWORK }],
    [`/os-networks/${NETWORK}/action`, { disassociate: null }],
    [`/os-networks/${NETWORK}/action`, { associate_host: "host1" }],
  ])("return 410 for POST %s %j, which changed networks of nova-network", async (path, body) => {
    expect((await ask("POST", path, body)).status).toBe(410);
  });

  test("return no floating IPs", async () => {
    expect((await ask("GET", "/os-floating-ips")).json()).toEqual({ floating_ips: [] });
    expect((await ask("POST", "/os-floating-ips", {})).status).toBe(404);
    expect((await ask("DELETE", "/os-floating-ips/1")).status).toBe(404);
  });

  test("create, rename and delete security groups", async () => {
    const made = await ask("POST", "/os-security-groups", { security_group: { name: "web", description: "d" } });
    const id = String(made.json("security_group", "id"));
    expect(made.json("security_group")).toEqual({
      id,
      name: "web",
      description: "d",
      tenant_id: world.projectId("admin"),
      rules: [],
    });
    expect((await ask("GET", `/os-security-groups/${id}`)).json("security_group")).toEqual(made.json("security_group"));
    await ask("PUT", `/os-security-groups/${id}`, { security_group: { name: "w", description: "" } });
    const names = ((await ask("GET", "/os-security-groups")).json("security_groups") as { name: string }[]).map(
      ({ name }) => name,
    );
    expect(names).toEqual(["default", "w"]);
    networked(id);
    expect((await ask("DELETE", `/os-security-groups/${id}`)).status).toBe(400);
    const other = await group("other");
    expect((await ask("DELETE", `/os-security-groups/${other}`)).status).toBe(202);
    expect((await ask("DELETE", `/os-security-groups/${other}`)).status).toBe(404);
  });

  test.each([
    [{}, 400],
    [{ security_group: {} }, 400],
    [{ security_group: { name: 1, description: "" } }, 400],
    [{ security_group: { name: "x".repeat(256), description: "" } }, 400],
    [{ security_group: { name: "default", description: "" } }, 403],
  ])("reject the group %j", async (body, status) => {
    expect((await ask("POST", "/os-security-groups", body)).status).toBe(status);
  });

  describe("rules", () => {
    let parent: string;

    beforeEach(async () => {
      parent = await group("web");
    });

    const rule = (body: object) =>
      ask("POST", "/os-security-group-rules", { security_group_rule: { parent_group_id: parent, ...body } });

    test("for a network are created and deleted", async () => {
      const made = await rule({ ip_protocol: "tcp", from_port: 22, to_port: "22", cidr: "10.2.3.124/24" });
      const id = made.json("security_group_rule", "id");
      const view = { from_port: 22, to_port: 22, ip_protocol: "tcp", ip_range: { cidr: "10.2.3.124/24" }, group: {} };
      expect(made.json("security_group_rule")).toEqual({ id, parent_group_id: parent, ...view });
      expect((await rule({ ip_protocol: "tcp", from_port: 22, to_port: 22, cidr: "10.2.3.124/24" })).status).toBe(400);
      const listedRules = (await ask("GET", `/os-security-groups/${parent}`)).json("security_group", "rules");
      expect(listedRules).toMatchObject([view]);
      expect((await ask("DELETE", `/os-security-group-rules/${id}`)).status).toBe(202);
      expect((await ask("DELETE", `/os-security-group-rules/${id}`)).status).toBe(404);
    });

    test("for a group without ports allow all ports", async () => {
      const source = await group("source");
      const made = await rule({ ip_protocol: "TCP", group_id: source });
      expect(made.json("security_group_rule")).toMatchObject({
        ip_protocol: "tcp",
        from_port: 1,
        to_port: 65_535,
        group: { name: "source", tenant_id: world.projectId("admin") },
        ip_range: {},
      });
      expect((await rule({ ip_protocol: "icmp", group_id: source })).json("security_group_rule")).toMatchObject({
        from_port: -1,
        to_port: -1,
      });
    });

    test.each([
      [{ ip_protocol: "tcp", from_port: 22, to_port: 22, cidr: "10.2.3.124/33" }, 400],
      [{ ip_protocol: "tcp", from_port: 22, to_port: 22, cidr: "10.2.3.4/0" }, 400],
      [{ cidr: "10.2.3.4/24" }, 400],
      [{ ip_protocol: "tcp", from_port: "a", to_port: 22 }, 400],
      [{ ip_protocol: "tcp", from_port: 30, to_port: 22 }, 400],
      [{ ip_protocol: "tcp", from_port: 0, to_port: 22 }, 400],
      [{ ip_protocol: "tcp", from_port: 22, to_port: 65_536 }, 400],
      [{ ip_protocol: "sctp", from_port: 22, to_port: 22 }, 400],
      [{ ip_protocol: "icmp", from_port: 0, to_port: 256 }, 400],
      [{ parent_group_id: 7, ip_protocol: "tcp", from_port: 22, to_port: 22 }, 400],
      [{ parent_group_id: CIRROS, ip_protocol: "tcp", from_port: 22, to_port: 22 }, 404],
      [{ ip_protocol: "tcp", from_port: 22, to_port: 22, group_id: CIRROS }, 404],
    ])("%j is rejected", async (body, status) => {
      expect((await rule(body)).status).toBe(status);
    });
  });
});
