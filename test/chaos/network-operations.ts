import type { Dice } from "./dice.js";

/** A parsed body with nested access. */
interface Json {
  readonly [key: string]: Json;
}

interface NetworkRequest {
  readonly service: "compute" | "network";
  readonly method: "POST" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}

/** A user who changes networks. */
export interface NetworkUser {
  readonly dice: Dice;
  /** Returns a collection of a service; empty without a response. */
  list(service: "compute" | "network", path: string, collection: string): Promise<readonly Json[]>;
  /** Sends a request and records it as an operation, of a server if one is named. */
  act(operation: string, request: NetworkRequest, server?: string): Promise<void>;
}

/** The network that all projects share, that of project `demo`, whose router leads to the external one, and the latter. */
const SHARED = "c0ffee00-0000-4000-8000-000000000020";
const PRIVATE = "c0ffee00-0000-4000-8000-000000000050";
const PUBLIC = "c0ffee00-0000-4000-8000-000000000040";

/** The name of networks that users create. */
const OWN = "own";

/** The max number of a user's ports without a server, networks, and floating IPs. */
const FREE_PORTS = 4;
const NETWORKS = 3;
const FLOATING_IPS = 5;

/** The networks of a new server. */
export type DrawnNetworks = "none" | readonly ({ readonly uuid: string } | { readonly port: string })[];

/** Draws the networks of a new server: none, one or two, or an existing port. */
export async function drawNetworks(user: NetworkUser): Promise<DrawnNetworks> {
  const { dice } = user;
  if (dice.chance(0.2)) {
    return "none";
  }
  const port = dice.chance(0.4) ? dice.pick(await freePorts(user)) : undefined;
  if (port !== undefined) {
    return [{ port: String(port.id) }, ...(dice.chance(0.5) ? [{ uuid: SHARED }] : [])];
  }
  const own = dice.chance(0.3) ? dice.pick(await ownNetworks(user)) : undefined;
  return [{ uuid: await drawNetwork(user) }, ...(own === undefined ? [] : [{ uuid: String(own.id) }])];
}

/** Changes interfaces, ports, networks or floating IPs, whatever else is in progress. */
export async function changeNetworks(user: NetworkUser): Promise<void> {
  await user.dice
    .weighted([
      { weight: 4, run: attachInterface },
      { weight: 4, run: detachInterface },
      { weight: 3, run: createPort },
      { weight: 1, run: deletePort },
      { weight: 1, run: createNetwork },
      { weight: 1, run: deleteNetwork },
      { weight: 2, run: createFloatingIp },
      { weight: 1, run: deleteFloatingIp },
    ])
    ?.run(user);
}

async function attachInterface(user: NetworkUser): Promise<void> {
  const { dice } = user;
  const server = dice.pick(await user.list("compute", "/servers", "servers"));
  const port = dice.chance(0.5) ? dice.pick(await freePorts(user)) : undefined;
  if (server !== undefined) {
    const id = String(server.id);
    const attachment = port === undefined ? { net_id: await drawNetwork(user) } : { port_id: String(port.id) };
    const body = { interfaceAttachment: attachment };
    await user.act(
      "attach interface",
      { service: "compute", method: "POST", path: `/servers/${id}/os-interface`, body },
      id,
    );
  }
}

async function detachInterface(user: NetworkUser): Promise<void> {
  const port = user.dice.pick((await ports(user)).filter(isOfServer));
  if (port !== undefined) {
    const server = String(port.device_id);
    const path = `/servers/${server}/os-interface/${String(port.id)}`;
    await user.act("detach interface", { service: "compute", method: "DELETE", path }, server);
  }
}

async function createPort(user: NetworkUser): Promise<void> {
  if ((await freePorts(user)).length < FREE_PORTS) {
    await change(user, "create port", "POST", "/ports", { port: { network_id: await drawNetwork(user) } });
  }
}

/** Usually deletes a port without a server. */
async function deletePort(user: NetworkUser): Promise<void> {
  const { dice } = user;
  const port = dice.pick((await ports(user)).filter(dice.chance(0.3) ? isOfServer : isFree));
  if (port !== undefined) {
    await change(user, "delete port", "DELETE", `/ports/${String(port.id)}`);
  }
}

/** Creates a network, or a subnet of one that has none, which a server needs. */
async function createNetwork(user: NetworkUser): Promise<void> {
  const { dice } = user;
  const own = await ownNetworks(user);
  const [bare] = own.filter(({ subnets }) => Object.keys(subnets ?? {}).length === 0);
  if (bare !== undefined) {
    const subnet = { network_id: String(bare.id), ip_version: 4, cidr: `192.168.${dice.between(0, 200)}.0/24` };
    await change(user, "create subnet", "POST", "/subnets", { subnet });
  } else if (own.length < NETWORKS) {
    await change(user, "create network", "POST", "/networks", { network: { name: OWN } });
  }
}

async function deleteNetwork(user: NetworkUser): Promise<void> {
  const network = user.dice.pick(await ownNetworks(user));
  if (network !== undefined) {
    await change(user, "delete network", "DELETE", `/networks/${String(network.id)}`);
  }
}

/** Creates a floating IP, for a port of a server if one is on the network with a router. */
async function createFloatingIp(user: NetworkUser): Promise<void> {
  if ((await floatingIps(user)).length < FLOATING_IPS) {
    const port = user.dice.pick((await ports(user)).filter((one) => isOfServer(one) && isOn(one, PRIVATE)));
    const floatingip = { floating_network_id: PUBLIC, ...(port === undefined ? {} : { port_id: String(port.id) }) };
    await change(user, "create floating IP", "POST", "/floatingips", { floatingip });
  }
}

async function deleteFloatingIp(user: NetworkUser): Promise<void> {
  const address = user.dice.pick(await floatingIps(user));
  if (address !== undefined) {
    await change(user, "delete floating IP", "DELETE", `/floatingips/${String(address.id)}`);
  }
}

async function drawNetwork(user: NetworkUser): Promise<string> {
  const { dice } = user;
  const isVisible = dice.chance(0.3) && (await networks(user, `?id=${PRIVATE}`)).length > 0;
  return isVisible ? PRIVATE : SHARED;
}

const isOfServer = ({ device_owner: owner }: Json) => String(owner).startsWith("compute:");

const isFree = ({ device_owner: owner, device_id: device }: Json) => String(owner) === "" && String(device) === "";

const isOn = ({ network_id: id }: Json, network: string) => String(id) === network;

const ports = (user: NetworkUser) => user.list("network", "/ports", "ports");

const freePorts = async (user: NetworkUser) => (await ports(user)).filter(isFree);

const networks = (user: NetworkUser, query: string) => user.list("network", `/networks${query}`, "networks");

const ownNetworks = (user: NetworkUser) => networks(user, `?name=${OWN}`);

const floatingIps = (user: NetworkUser) => user.list("network", "/floatingips", "floatingips");

function change(
  user: NetworkUser,
  operation: string,
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<void> {
  return user.act(operation, { service: "network", method, path, ...(body === undefined ? {} : { body }) });
}
