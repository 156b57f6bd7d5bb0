import { act, type Stage } from "./actors.js";
import type { Json } from "./client.js";

/** The network that all projects share, and the external one. */
const SHARED = "c0ffee00-0000-4000-8000-000000000020";
const PUBLIC = "c0ffee00-0000-4000-8000-000000000040";

/** The max number of ports without a server, and of networks that users create. */
const FREE_PORTS = 4;
const NETWORKS = 3;

type RequestedNetworks = "none" | readonly ({ readonly uuid: string } | { readonly port: string })[];

/** Draws the networks of a new server: none, one or two, or an existing port. */
export async function chooseNetworks(stage: Stage): Promise<RequestedNetworks> {
  const { cluster, dice } = stage;
  const draws = dice.of("networks");
  if (cluster.plan.deployment.networks !== true || draws.chance(0.2)) {
    return "none";
  }
  const port = draws.chance(0.4) ? draws.pick(await freePorts(stage)) : undefined;
  if (port !== undefined) {
    return [{ port: String(port.id) }, ...(draws.chance(0.5) ? [{ uuid: SHARED }] : [])];
  }
  const own = draws.chance(0.3) ? draws.pick(await ownNetworks(stage)) : undefined;
  return [{ uuid: SHARED }, ...(own === undefined ? [] : [{ uuid: String(own.id) }])];
}

/** Changes interfaces, ports, networks or floating IPs, independently of the operations in progress. */
export async function changeNetworks(stage: Stage): Promise<void> {
  await stage.dice
    .weighted([
      { weight: 4, run: attachInterface },
      { weight: 4, run: detachInterface },
      { weight: 3, run: createPort },
      { weight: 1, run: deletePort },
      { weight: 1, run: createNetwork },
      { weight: 1, run: deleteNetwork },
      { weight: 1, run: createFloatingIp },
      { weight: 1, run: deleteFloatingIp },
    ])
    ?.run(stage);
}

async function attachInterface(stage: Stage): Promise<void> {
  const server = await pickServer(stage);
  const port = stage.dice.chance(0.5) ? stage.dice.pick(await freePorts(stage)) : undefined;
  if (server !== undefined) {
    const body = { interfaceAttachment: port === undefined ? { net_id: SHARED } : { port_id: String(port.id) } };
    await act(stage, "attach interface", { method: "POST", path: `/servers/${server}/os-interface`, body }, server);
  }
}

async function detachInterface(stage: Stage): Promise<void> {
  const port = stage.dice.pick((await ports(stage)).filter(isOfServer));
  if (port !== undefined) {
    const server = String(port.device_id);
    const path = `/servers/${server}/os-interface/${String(port.id)}`;
    await act(stage, "detach interface", { method: "DELETE", path }, server);
  }
}

async function createPort(stage: Stage): Promise<void> {
  if ((await freePorts(stage)).length < FREE_PORTS) {
    await change(stage, "create port", "POST", "/ports", { port: { network_id: SHARED, name: "given" } });
  }
}

/** Usually deletes a port without a server. */
async function deletePort(stage: Stage): Promise<void> {
  const { dice } = stage;
  const all = await ports(stage);
  const port = dice.pick(all.filter(dice.chance(0.3) ? isOfServer : isFree));
  if (port !== undefined) {
    await change(stage, "delete port", "DELETE", `/ports/${String(port.id)}`);
  }
}

async function createNetwork(stage: Stage): Promise<void> {
  const { client, dice } = stage;
  if ((await ownNetworks(stage)).length >= NETWORKS) {
    return;
  }
  const created = await client.network("POST", "/networks", { network: { name: OWN } });
  const id = created?.body.network?.id;
  if (id !== undefined) {
    const subnet = { network_id: String(id), ip_version: 4, cidr: `192.168.${dice.between(0, 200)}.0/24` };
    await change(stage, "create network", "POST", "/subnets", { subnet });
  }
}

async function deleteNetwork(stage: Stage): Promise<void> {
  const network = stage.dice.pick(await ownNetworks(stage));
  if (network !== undefined) {
    await change(stage, "delete network", "DELETE", `/networks/${String(network.id)}`);
  }
}

async function createFloatingIp(stage: Stage): Promise<void> {
  const address = { floating_network_id: PUBLIC };
  await change(stage, "create floating IP", "POST", "/floatingips", { floatingip: address });
}

async function deleteFloatingIp(stage: Stage): Promise<void> {
  const all = await list(stage, "floatingips");
  const address = stage.dice.pick(all);
  if (address !== undefined) {
    await change(stage, "delete floating IP", "DELETE", `/floatingips/${String(address.id)}`);
  }
}

/** The name of networks that users create. */
const OWN = "simulated";

const isOfServer = ({ device_owner: owner }: Json) => String(owner).startsWith("compute:");

const isFree = ({ device_owner: owner, device_id: device }: Json) => String(owner) === "" && String(device) === "";

const ports = (stage: Stage) => list(stage, "ports");

const freePorts = async (stage: Stage) => (await ports(stage)).filter(isFree);

const ownNetworks = (stage: Stage) => list(stage, "networks", `?name=${OWN}`);

async function list({ client }: Stage, collection: string, query = ""): Promise<readonly Json[]> {
  const response = await client.network("GET", `/${collection}${query}`);
  return response?.status === 200 ? Object.values(response.body[collection] ?? {}) : [];
}

async function pickServer({ client, dice }: Stage): Promise<string | undefined> {
  const response = await client.compute("GET", "/servers?all_tenants=1");
  const server = dice.pick(Object.values(response?.body.servers ?? {}));
  return server && String(server.id);
}

async function change(
  stage: Stage,
  operation: string,
  method: "POST" | "DELETE",
  path: string,
  body?: unknown,
): Promise<void> {
  await act(stage, operation, { service: "network", method, path, ...(body === undefined ? {} : { body }) });
}
