import { where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import { FLOATINGIPS, PORT_FORWARDINGS, type PortForwardingRecord } from "../resources/floating-ips.js";
import { LOCAL_IPS } from "../resources/local-ips.js";
import { PORTS, type PortRecord } from "../resources/ports.js";
import { ROUTERS } from "../resources/routers.js";
import type { SubnetRecord } from "../resources/subnets.js";
import { FLOATING_IP, isIpv4, ROUTER_GATEWAY, ROUTER_INTERFACE } from "./router-ports.js";

/** Rejects that a user deletes a port which belongs to a router, a floating IP or a local IP. @throws {HttpError} 409 */
export function portGuard(
  context: NetworkContext,
  { id, device_id: deviceId, device_owner: owner }: Pick<PortRecord, "id" | "device_id" | "device_owner">,
): void {
  if (isServicePort(context, id, deviceId, owner)) {
    throw servicePortInUse(id, `has device owner ${owner}`);
  }
  if (context.table(LOCAL_IPS).has(where`local_port_id = ${id}`)) {
    throw servicePortInUse(id, "still referenced by Local IPs");
  }
}

const ROUTER_OWNERS: readonly string[] = [
  ROUTER_INTERFACE,
  ROUTER_GATEWAY,
  "network:router_interface_distributed",
  "network:ha_router_replicated_interface",
  "network:router_centralized_snat",
  "network:router_ha_interface",
];

/** A port without addresses, or one whose router or floating IP is gone, is a leftover that may be deleted. */
function isServicePort(context: NetworkContext, id: string, deviceId: string, owner: string): boolean {
  const device = owner === FLOATING_IP ? FLOATINGIPS : ROUTER_OWNERS.includes(owner) ? ROUTERS : undefined;
  return (
    device !== undefined &&
    fixedIpsOf(context, [id]).has(id) &&
    context.sql.get(`SELECT 1 FROM ${device.table} WHERE id = ?`, deviceId) !== undefined
  );
}

function servicePortInUse(id: string, reason: string): Error {
  return networkError(409, "ServicePortInUse", `Port ${id} cannot be deleted directly via the port API: ${reason}.`);
}

/** Releases the floating IPs and the port forwardings of a port that is deleted. */
export function disassociateFloatingIps(context: NetworkContext, portId: string): void {
  for (const id of context.table(FLOATINGIPS).ids(where`port_id = ${portId}`)) {
    context.table(FLOATINGIPS).update(id, { port_id: null, fixed_ip_address: null, router_id: null, status: "DOWN" });
    context.touch(FLOATINGIPS as never, id);
  }
  removeForwardings(context, context.table(PORT_FORWARDINGS).find(where`internal_port_id = ${portId}`));
}

/** Removes the port forwardings to addresses that a changed port no longer has. */
export function removeStaleForwardings(context: NetworkContext, portId: string): void {
  const forwardings = context.table(PORT_FORWARDINGS).find(where`internal_port_id = ${portId}`);
  if (forwardings.length === 0) {
    return;
  }
  const addresses = (fixedIpsOf(context, [portId]).get(portId) ?? []).map(({ ip_address: address }) => address);
  if (addresses.some(isIpv4)) {
    removeForwardings(
      context,
      forwardings.filter(({ internal_ip_address: address }) => !addresses.includes(address)),
    );
  }
}

function removeForwardings(context: NetworkContext, forwardings: readonly PortForwardingRecord[]): void {
  for (const { id, floatingip_id: floatingIp } of forwardings) {
    context.table(PORT_FORWARDINGS).delete(id);
    releaseRouter(context, floatingIp);
    context.touch(FLOATINGIPS as never, floatingIp);
  }
}

/** A floating IP whose last port forwarding is gone has no router any more. */
export function releaseRouter(context: NetworkContext, floatingIpId: string): void {
  if (!context.table(PORT_FORWARDINGS).has(where`floatingip_id = ${floatingIpId}`)) {
    context.table(FLOATINGIPS).update(floatingIpId, { router_id: null, status: "DOWN" });
  }
}

/**
 * Returns the router that connects a subnet with an external network; one that has the gateway address of the subnet is
 * preferred.
 */
export function findRouter(
  { sql }: NetworkContext,
  networkId: string,
  { id, gateway_ip: gateway }: SubnetRecord,
  externalNetworkId: string,
): string | undefined {
  const [router] = sql.strings(
    // CROSS JOIN: a network has few interfaces of routers, but may have 100,000 addresses.
    `SELECT interface.device_id FROM ${PORTS.table} AS interface
      CROSS JOIN network_ip_allocations AS addresses ON addresses.port_id = interface.id
      JOIN ${PORTS.table} AS gateway ON gateway.device_id = interface.device_id
      WHERE interface.network_id = ? AND interface.device_owner = ? AND +addresses.subnet_id = ?
        AND +gateway.network_id = ? AND gateway.device_owner = ?
      ORDER BY addresses.address IS NOT ?, interface.rowid LIMIT 1`,
    networkId,
    ROUTER_INTERFACE,
    id,
    externalNetworkId,
    ROUTER_GATEWAY,
    gateway,
  );
  return router;
}
