import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import type { PortRecord } from "../resources/ports.js";
import { portGuard } from "../trunk/parent-port.js";

/**
 * Checks before a port is deleted, or actions of those whose records refer to it. Each may throw an `HttpError`. Deletes by
 * the service itself run those of `PORT_RELEASES` only.
 */
export type PortGuard = (context: NetworkContext, port: PortRecord) => void;

/** Device owners of the ports that routers and floating IPs create. */
const ROUTER_OWNERS: readonly string[] = [
  "network:router_interface",
  "network:router_interface_distributed",
  "network:ha_router_replicated_interface",
  "network:router_gateway",
  "network:router_centralized_snat",
  "network:router_ha_interface",
];

const FLOATING_IP_OWNER = "network:floatingip";

/** Checks before a user deletes a port, in their order. */
export const PORT_GUARDS: readonly PortGuard[] = [assertNotOfRouter, portGuard];

/** Actions before any port is deleted. */
export const PORT_RELEASES: readonly PortGuard[] = [];

/** Rejects ports that only operations of a router or floating IP may delete. @throws {HttpError} 409 */
function assertNotOfRouter({ sql }: NetworkContext, { id, device_owner: owner, device_id: device }: PortRecord): void {
  const table = tableOf(owner);
  if (table === undefined) {
    return;
  }
  const hasAddress = sql.get("SELECT 1 FROM network_ip_allocations WHERE port_id = ? LIMIT 1", id) !== undefined;
  if (hasAddress && sql.get(`SELECT 1 FROM ${table} WHERE id = ?`, device) !== undefined) {
    throw networkError(
      409,
      "ServicePortInUse",
      `Port ${id} cannot be deleted directly via the port API: has device owner ${owner}.`,
    );
  }
}

/** Returns the table of the device that the port belongs to. */
function tableOf(owner: string): string | undefined {
  if (owner === FLOATING_IP_OWNER) {
    return "network_floatingips";
  }
  return ROUTER_OWNERS.includes(owner) ? "network_routers" : undefined;
}
