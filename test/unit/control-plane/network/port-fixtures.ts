import type { ServerPort, ServerPorts } from "../../../../src/control-plane/network/server-ports.js";
import type { Caller } from "../../../fixtures/callers.js";
import type { Body, NetworkHarness } from "./network-harness.js";

/** Device attributes of a port that a server has. */
export const SERVER = "11111111-2222-4333-8444-555555555555";
export const OF_SERVER = { device_owner: "compute:nova", device_id: SERVER } as const;

/** Adds hosts whose L2 agents are alive. */
export function addHosts({ store }: NetworkHarness, ...hosts: readonly string[]): void {
  for (const host of hosts) {
    store.services.create({ host, binary: "nova-compute", topic: "compute", version: 73 });
  }
}

/** Creates a network of project `demo` with IPv4 subnets; returns its id. */
export async function createNetwork(
  harness: NetworkHarness,
  { cidrs = ["10.0.0.0/24"], ...attributes }: Body & { readonly cidrs?: readonly string[] } = {},
): Promise<string> {
  const network = await harness.get("POST", "/networks", { network: attributes });
  for (const cidr of cidrs) {
    await harness.get("POST", "/subnets", { subnet: { network_id: network.id, ip_version: 4, cidr } });
  }
  return String(network.id);
}

/** Creates a port of project `demo`. */
export function createPort(
  harness: NetworkHarness,
  networkId: string,
  attributes: Body = {},
  caller: Caller = "demo",
): Promise<Body> {
  return harness.get("POST", "/ports", { port: { project_id: "demo", network_id: networkId, ...attributes } }, caller);
}

export function updatePort(
  harness: NetworkHarness,
  id: unknown,
  changes: Body,
  caller: Caller = "demo",
): Promise<Body> {
  return harness.get("PUT", `/ports/${id}`, { port: changes }, caller);
}

/** Returns status, type and message of the rejected create. */
export function rejectedPort(
  harness: NetworkHarness,
  networkId: string,
  attributes: Body,
  caller: Caller = "demo",
): Promise<string> {
  return harness.rejection("POST", "/ports", { port: { network_id: networkId, ...attributes } }, caller);
}

export function rejectedUpdate(
  harness: NetworkHarness,
  id: unknown,
  changes: Body,
  caller: Caller = "demo",
): Promise<string> {
  return harness.rejection("PUT", `/ports/${id}`, { port: changes }, caller);
}

/** Attaches ports and returns them as Compute sees them. */
export function attach(ports: ServerPorts, ...args: Parameters<ServerPorts["attach"]>): readonly ServerPort[] {
  return ports.attach(...args).flatMap((id) => ports.get(id) ?? []);
}
