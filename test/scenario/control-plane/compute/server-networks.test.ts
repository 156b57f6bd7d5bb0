import { beforeEach, describe, expect, test } from "vitest";
import type { Instance } from "../../../../src/records/index.js";
import { NETWORK_ID as SHARED } from "../../../fixtures/test-network.js";
import { ApiWorld, CIRROS, type Reply } from "../../../unit/control-plane/compute/api-world.js";
import {
  attachPorts,
  createExternalNetwork,
  createNetwork,
  createPort,
  requestRecord,
} from "../../../unit/control-plane/compute/network-records.js";

type User = "admin" | "demo";

let world: ApiWorld;

beforeEach(async () => {
  world = await ApiWorld.open();
  world.flavor();
  world.host("devstack1");
});

async function ask(method: string, path: string, body?: unknown, version = 43, as: User = "admin"): Promise<Reply> {
  return world.ask({ method, url: `/compute/v2.1${path}`, body, version, token: await world.token(as) });
}

function create(server: Record<string, unknown>, as: User = "admin", version = 43): Promise<Reply> {
  const named = { name: "vm1", flavorRef: "1", imageRef: CIRROS, ...server };
  return ask("POST", "/servers", { server: named }, version, as);
}

/** Returns status and message of the response. */
async function resultOf(pending: Promise<Reply>): Promise<string> {
  const reply = await pending;
  return reply.status >= 400 ? `${reply.status} ${reply.message}` : String(reply.status);
}

/** Returns the ports in the build task of the last accepted server; undefined: none. */
function requestedPorts(): unknown {
  const task = world.tasks().at(-1);
  return task?.kind === "build_instances" ? task.ports : undefined;
}

function removeSharedNetwork(): Promise<Reply> {
  return world.ask({ method: "DELETE", url: `/network/v2.0/networks/${SHARED}` });
}

const portsOf = ({ uuid }: Pick<Instance, "uuid">) => world.network.ports.ofServer(uuid);
const project = (name: User): string => world.projectId(name);

describe("a server that names no network", () => {
  const AMBIGUOUS = "409 Multiple possible networks found, use a Network ID to be more specific.";

  test.each(["auto", []])("gets the only network of its project before the shared one, with %j", async (networks) => {
    const own = await createNetwork(world, { name: "own" }, { as: "demo" });
    expect(await resultOf(create({ networks }, "demo"))).toBe("202");
    expect(requestedPorts()).toEqual([{ network: own }]);
    expect(await resultOf(create({ networks }))).toBe("202");
    expect(requestedPorts()).toEqual([{ network: SHARED }]);
  });

  test("is rejected if its project has several networks, or none and several are shared", async () => {
    await createNetwork(world, { shared: true });
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe(AMBIGUOUS);
    await createNetwork(world, {}, { as: "demo" });
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe("202");
    await createNetwork(world, {}, { as: "demo" });
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe(AMBIGUOUS);
    expect(await resultOf(create({ networks: "none" }, "demo"))).toBe("202");
  });

  test("has no port if there is no network, except with auto", async () => {
    await removeSharedNetwork();
    expect(await resultOf(create({ networks: [] }, "demo"))).toBe("202");
    expect(requestedPorts()).toBeUndefined();
    expect(await resultOf(create({}, "demo", 36))).toBe("202");
    expect(requestedPorts()).toBeUndefined();
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe(
      `400 Unable to automatically allocate a network for project ${project("demo")}`,
    );
  });

  test("gets the topology that auto creates once if there are default pools and a default external network", async () => {
    await removeSharedNetwork();
    const subnetpool = { name: "default", prefixes: ["10.1.0.0/16"], default_prefixlen: 26, is_default: true };
    await requestRecord(world, "POST", "/subnetpools", { subnetpool: { ...subnetpool, shared: true } });
    await createNetwork(world, { "router:external": true, is_default: true }, { cidrs: ["172.24.4.0/24"] });
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe("202");
    const [first] = requestedPorts() as { network: string }[];
    expect(await resultOf(create({ networks: "auto" }, "demo"))).toBe("202");
    expect(requestedPorts()).toEqual([first]);
    expect(world.network.ports.network(first?.network ?? "", { projectId: project("demo") })).toMatchObject({
      projectId: project("demo"),
      name: "auto_allocated_network",
    });
  });
});

describe("a requested network or port", () => {
  test("keeps the order of the request, with tags and addresses", async () => {
    const other = await createNetwork(world);
    const port = await createPort(world);
    const networks = [
      { uuid: other, tag: "b" },
      { port, tag: "a" },
      { uuid: SHARED, fixed_ip: "10.0.0.9" },
    ];
    expect(await resultOf(create({ networks }))).toBe("202");
    expect(requestedPorts()).toEqual([
      { network: other, tag: "b" },
      { port, tag: "a" },
      { network: SHARED, address: "10.0.0.9" },
    ]);
  });

  test("is a 400 if a network of another project or an unknown one is named", async () => {
    const foreign = await createNetwork(world);
    for (const uuid of [foreign, CIRROS]) {
      const result = await resultOf(create({ networks: [{ uuid }] }, "demo"));
      expect(result).toBe(`400 Network ${uuid} could not be found.`);
    }
    expect(await resultOf(create({ networks: [{ uuid: foreign }] }))).toBe("202");
  });

  test("may be on a network that an RBAC policy shares with the project", async () => {
    const network = await createNetwork(world);
    const policy = { object_type: "network", object_id: network, action: "access_as_shared" };
    await requestRecord(world, "POST", "/rbac-policies", {
      rbac_policy: { ...policy, target_tenant: project("demo") },
    });
    expect(await resultOf(create({ networks: [{ uuid: network }] }, "demo"))).toBe("202");
    expect(requestedPorts()).toEqual([{ network }]);
  });

  test("needs a subnet, and a port an address unless it was created without any", async () => {
    const network = await createNetwork(world, {}, { cidrs: [] });
    expect(await resultOf(create({ networks: [{ uuid: network }] }))).toBe(
      `400 Network ${network} requires a subnet in order to boot instances on.`,
    );
    const bare = await createPort(world, { fixed_ips: [] });
    expect(await resultOf(create({ networks: [{ port: bare }] }))).toBe("202");
    const port = await createPort(world, { network_id: network });
    expect(await resultOf(create({ networks: [{ port }] }))).toBe(
      `400 Port ${port} requires a FixedIP in order to be used.`,
    );
  });

  test("on an external network is for administrators", async () => {
    const { networkId } = await createExternalNetwork(world);
    expect(await resultOf(create({ networks: [{ uuid: networkId }] }, "demo"))).toBe(
      `403 It is not allowed to create an interface on external network ${networkId}`,
    );
    expect(await resultOf(create({ networks: [{ uuid: networkId }] }))).toBe("202");
  });

  test("must be free: neither the port nor the address may be in use", async () => {
    const server = world.server("devstack1");
    const [port] = attachPorts(world, server);
    expect(await resultOf(create({ networks: [{ port: port?.id }] }))).toBe(`409 Port ${port?.id} is still in use.`);
    const address = port?.fixedIps[0]?.address;
    expect(await resultOf(create({ networks: [{ uuid: SHARED, fixed_ip: address }] }))).toBe(
      `400 Fixed IP address ${address} is already in use on instance ${server.uuid}.`,
    );
  });

  test.each([
    [
      [{ port: CIRROS, fixed_ip: "10.0.0.7" }],
      {},
      `Specified Fixed IP '10.0.0.7' cannot be used with port '${CIRROS}'`,
    ],
    [[{ port: CIRROS }, { port: CIRROS }], {}, `Port ID '${CIRROS}' was specified twice: you cannot attach`],
    [[{ port: CIRROS }], { max_count: 2 }, "Failed to launch instances: Unable to launch multiple instances"],
    [[{ uuid: SHARED, fixed_ip: "10.0.0.7" }], { max_count: 2 }, "Failed to launch instances: max_count cannot be"],
    [[{ port: CIRROS }], {}, `Port id ${CIRROS} could not be found.`],
    [[{ tag: "a" }], {}, "Bad network format: missing 'uuid'"],
  ])("as in %j with %j is rejected", async (networks, more, message) => {
    const reply = await create({ networks, ...more });
    expect([reply.status, reply.message]).toEqual([400, expect.stringContaining(message)]);
  });
});

describe("addresses", () => {
  test("are grouped by network, with those of both IP versions", async () => {
    const dual = await createNetwork(world, { name: "dual" }, { cidrs: ["192.168.1.0/24", "fd00:1::/64"] });
    const server = world.server("devstack1");
    attachPorts(world, server, [dual, SHARED, dual]);
    const view = (await ask("GET", `/servers/${server.uuid}/ips`)).json("addresses") as Record<string, object[]>;
    expect(Object.keys(view)).toEqual(["dual", "private"]);
    expect(view.dual?.map(({ version }: { version?: number }) => version).sort()).toEqual([4, 4, 6, 6]);
    expect(view.private).toEqual([{ version: 4, addr: "10.0.0.2" }]);
    expect((await ask("GET", `/servers/${server.uuid}/ips/dual`)).json("dual")).toEqual(view.dual);
  });

  test("filter lists by ip and ip6, each with its own version", async () => {
    const dual = await createNetwork(world, {}, { cidrs: ["192.168.1.0/24", "fd00:1::/64"] });
    const [one, other] = [world.server("devstack1"), world.server("devstack1")];
    attachPorts(world, one, [dual]);
    attachPorts(world, other, [SHARED]);
    const found = async (query: string): Promise<readonly string[]> =>
      ((await ask("GET", `/servers?${query}`)).json("servers") as { id: string }[]).map(({ id }) => id);
    expect(await found("ip=192.168.1.")).toEqual([one.uuid]);
    expect(await found("ip6=fd00:1::")).toEqual([one.uuid]);
    expect(await found("ip=fd00:1::")).toEqual([]);
    expect(await found("ip6=10.0.0.")).toEqual([]);
    expect(await found("ip=10.0.0.&name=vm1")).toEqual([other.uuid]);
  });
});

describe("os-interface", () => {
  const attach = (uuid: string, attachment: object, as: User = "admin"): Promise<Reply> =>
    ask("POST", `/servers/${uuid}/os-interface`, { interfaceAttachment: attachment }, 49, as);

  test("without a network uses the project's only one", async () => {
    const server = world.server("devstack1", { projectId: project("demo") });
    const own = await createNetwork(world, {}, { as: "demo" });
    expect((await attach(server.uuid, {}, "demo")).json("interfaceAttachment", "net_id")).toBe(own);
    await createNetwork(world, {}, { as: "demo" });
    expect(await resultOf(attach(server.uuid, {}, "demo"))).toBe(
      "400 Multiple possible networks found, use a Network ID to be more specific.",
    );
  });

  test("is a 400 without any network", async () => {
    const server = world.server("devstack1");
    await removeSharedNetwork();
    expect(await resultOf(attach(server.uuid, {}))).toBe(
      `400 No specific network was requested and none are available for project '${project("admin")}'.`,
    );
  });

  test("binds the new port to the server's host and notifies its agent", async () => {
    const server = world.server("devstack1");
    const reply = await attach(server.uuid, { net_id: SHARED, tag: "nic" });
    const id = reply.json("interfaceAttachment", "port_id");
    expect(portsOf(server)).toMatchObject([
      { id, host: "devstack1", vifType: "ovs", madeForServer: true, tag: "nic", deviceOwner: "compute:nova" },
    ]);
    expect(world.casts).toMatchObject([
      { host: "devstack1", method: "external_instance_event", params: { events: [{ tag: id }] } },
    ]);
  });

  test("rejects ports and networks that the server cannot use", async () => {
    const server = world.server("devstack1");
    const taken = attachPorts(world, world.server("devstack1"))[0];
    const [foreign, bare] = [await createPort(world, {}, "demo"), await createNetwork(world, {}, { cidrs: [] })];
    const results = [
      [{ port_id: taken?.id }, `409 Port ${taken?.id} is still in use.`],
      [{ port_id: foreign }, `400 Port ${foreign} not usable for instance ${server.uuid}.`],
      [{ port_id: CIRROS }, `404 Port id ${CIRROS} could not be found.`],
      [{ net_id: CIRROS }, `404 Network ${CIRROS} could not be found.`],
      [{ net_id: SHARED, fixed_ips: [{ ip_address: "10.0.0.2" }] }, "409 Fixed IP 10.0.0.2 is already in use."],
      [
        { net_id: SHARED, fixed_ips: [{ ip_address: "192.0.2.1" }] },
        `400 Invalid input received: Fixed IP 192.0.2.1 is not a valid ip address for network ${SHARED}.`,
      ],
      [
        { net_id: bare },
        "400 Network requires port_security_enabled and subnet associated in order to apply security groups.",
      ],
      [{ net_id: SHARED, port_id: CIRROS }, "400 Must not input both network_id and port_id"],
      [{ fixed_ips: [{ ip_address: "10.0.0.2" }] }, "400 Must input network_id when request IP address"],
    ] as const;
    for (const [attachment, result] of results) {
      expect(await resultOf(attach(server.uuid, attachment))).toBe(result);
    }
    expect(portsOf(server)).toEqual([]);
  });

  test("is rejected on external networks for members, on full networks, and while the server cannot change", async () => {
    const { networkId } = await createExternalNetwork(world);
    const server = world.server("devstack1", { projectId: project("demo") });
    expect(await resultOf(attach(server.uuid, { net_id: networkId }, "demo"))).toBe(
      `403 It is not allowed to create an interface on external network ${networkId}`,
    );
    const full = await createNetwork(world, {}, { cidrs: ["192.168.1.0/30"], as: "demo" });
    expect(await resultOf(attach(server.uuid, { net_id: full }, "demo"))).toBe("200");
    expect(await resultOf(attach(server.uuid, { net_id: full }, "demo"))).toBe(
      `400 No fixed IP addresses available for network: ${full}`,
    );
    world.store.instances.save(server.uuid, { vmState: "suspended" });
    expect(await resultOf(attach(server.uuid, { net_id: full }, "demo"))).toBe(
      `409 Cannot 'attach_interface' instance ${server.uuid} while it is in vm_state suspended`,
    );
  });

  test("records the event of each action, for which clients wait", async () => {
    const server = world.server("devstack1");
    const port = (await attach(server.uuid, { net_id: SHARED })).json("interfaceAttachment", "port_id") as string;
    await ask("DELETE", `/servers/${server.uuid}/os-interface/${port}`);
    const { list, events } = world.store.actions;
    expect(list(server.uuid).map(({ action, id }) => [action, events(id)])).toMatchObject([
      ["detach_interface", [{ event: "compute_detach_interface", host: "devstack1", result: "Success" }]],
      ["attach_interface", [{ event: "compute_attach_interface", host: "devstack1", result: "Success" }]],
    ]);
  });

  test("DELETE removes a made port and releases an existing one", async () => {
    const server = world.server("devstack1");
    const existing = await createPort(world, { name: "existing" });
    await attach(server.uuid, { port_id: existing });
    const made = (await attach(server.uuid, { net_id: SHARED })).json("interfaceAttachment", "port_id") as string;
    for (const id of [existing, made]) {
      expect((await ask("DELETE", `/servers/${server.uuid}/os-interface/${id}`)).status).toBe(202);
    }
    expect(world.network.ports.get(made)).toBeUndefined();
    expect(world.network.ports.get(existing)).toMatchObject({
      deviceId: "",
      deviceOwner: "",
      host: null,
      vifType: "unbound",
      status: "DOWN",
    });
    expect(portsOf(server)).toEqual([]);
  });
});

describe("fixed addresses of a running server", () => {
  test("are added on a network of the server and removed", async () => {
    const server = world.server("devstack1");
    attachPorts(world, server);
    expect((await world.act(server, { addFixedIp: { networkId: SHARED } })).status).toBe(202);
    const addresses = () => portsOf(server).flatMap(({ fixedIps }) => fixedIps.map(({ address }) => address));
    expect(addresses()).toEqual(["10.0.0.2", "10.0.0.3"]);
    expect((await world.act(server, { removeFixedIp: { address: "10.0.0.2" } })).status).toBe(202);
    expect(addresses()).toEqual(["10.0.0.3"]);
    expect(world.casts.map(({ method }) => method)).toEqual(["external_instance_event", "external_instance_event"]);
  });

  test("are accepted and become a fault if the server has no such network or address, or the network is full", async () => {
    const full = await createNetwork(world, {}, { cidrs: ["192.168.1.0/30"] });
    const server = world.server("devstack1");
    attachPorts(world, server, [full]);
    const faultAfter = async (action: object): Promise<unknown> => {
      expect((await world.act(server, action)).status).toBe(202);
      return world.store.instances.fault(server.uuid)?.message;
    };
    const missing = `Network could not be found for instance ${server.uuid}.`;
    expect(await faultAfter({ addFixedIp: { networkId: SHARED } })).toBe(missing);
    expect(await faultAfter({ removeFixedIp: { address: "10.0.0.99" } })).toBe(
      `Instance ${server.uuid} does not have fixed IP '10.0.0.99'.`,
    );
    expect(await faultAfter({ addFixedIp: { networkId: full } })).toBe(missing);
    expect(portsOf(server)).toMatchObject([{ fixedIps: [{ address: "192.168.1.2" }] }]);
  });

  test("end with 2.43", async () => {
    const server = world.server("devstack1");
    expect((await world.act(server, { addFixedIp: { networkId: SHARED } }, 44)).status).toBe(404);
    expect((await world.act(server, { removeFixedIp: { address: "10.0.0.2" } }, 44)).status).toBe(404);
  });
});
