import type { LoginUser } from "../../../../src/control-plane/identity/store/bootstrap.js";
import type { ServerPort } from "../../../../src/control-plane/network/server-ports.js";
import type { Instance } from "../../../../src/records/index.js";
import { NETWORK_ID } from "../../../fixtures/test-network.js";
import type { ApiWorld } from "./api-world.js";

/** A record of the Network API. */
export type NetworkRecord = Readonly<Record<string, unknown>> & { readonly id: string };

/**
 * Sends a request to the Network API and returns the record in its response.
 * @param path below `/v2.0`
 * @throws {Error} for an error status
 */
export async function requestRecord(
  world: ApiWorld,
  method: "POST" | "PUT" | "GET",
  path: string,
  body?: unknown,
  as: LoginUser = "admin",
): Promise<NetworkRecord> {
  const reply = await world.ask({ method, url: `/network/v2.0${path}`, body, token: await world.token(as) });
  if (reply.status >= 300) {
    throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
  }
  return Object.values(reply.json() as Record<string, NetworkRecord>)[0] as NetworkRecord;
}

/** Creates a network with subnets; returns its id. */
export async function createNetwork(
  world: ApiWorld,
  attributes: Readonly<Record<string, unknown>> = {},
  { cidrs = ["192.168.1.0/24"], as = "admin" }: { readonly cidrs?: readonly string[]; readonly as?: LoginUser } = {},
): Promise<string> {
  const { id } = await requestRecord(world, "POST", "/networks", { network: attributes }, as);
  for (const cidr of cidrs) {
    const subnet = { network_id: id, ip_version: cidr.includes(":") ? 6 : 4, cidr };
    await requestRecord(world, "POST", "/subnets", { subnet }, as);
  }
  return id;
}

/** Creates a port of a project; returns its id. */
export async function createPort(
  world: ApiWorld,
  attributes: Readonly<Record<string, unknown>> = {},
  as: LoginUser = "admin",
): Promise<string> {
  const port = { network_id: NETWORK_ID, ...attributes };
  return (await requestRecord(world, "POST", "/ports", { port }, as)).id;
}

/** Creates a security group of a project; returns its id. */
export async function createGroup(world: ApiWorld, name: string, as: LoginUser = "admin"): Promise<string> {
  return (await requestRecord(world, "POST", "/security-groups", { security_group: { name } }, as)).id;
}

/** Creates an external network with a router to it for the networks; returns the ids of the network and the router. */
export async function createExternalNetwork(world: ApiWorld, ...networks: readonly string[]) {
  const external = { name: "public", "router:external": true };
  const networkId = await createNetwork(world, external, { cidrs: ["172.24.4.0/24"] });
  const router = { external_gateway_info: { network_id: networkId } };
  const { id: routerId } = await requestRecord(world, "POST", "/routers", { router });
  for (const network of networks) {
    const { subnets } = (await requestRecord(world, "GET", `/networks/${network}`)) as NetworkRecord & {
      readonly subnets: readonly string[];
    };
    for (const subnet_id of subnets) {
      await requestRecord(world, "PUT", `/routers/${routerId}/add_router_interface`, { subnet_id });
    }
  }
  return { networkId, routerId };
}

/** Attaches ports of networks to a server, by default one of the flat network. */
export function attachPorts(
  { network }: ApiWorld,
  { uuid, projectId, host, availabilityZone, hostname }: Instance,
  networks: readonly string[] = [NETWORK_ID],
  groups: readonly string[] = [],
): readonly ServerPort[] {
  const server = { uuid, projectId, host, availabilityZone, hostname };
  const requested = networks.map((id) => ({ network: id }));
  return network.ports.attach(server, requested, groups).flatMap((id) => network.ports.get(id) ?? []);
}
