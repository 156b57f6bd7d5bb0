import type { NetworkContext } from "../engine/network-context.js";
import { adaptAddressesToHost } from "../ipam/allocate-addresses.js";
import { PORTS, type PortRecord } from "../resources/ports.js";
import { activeBindingOf, type BindingChange, changeBinding, createActiveBinding, setStatus } from "./host-bindings.js";

/**
 * Changes the active binding of a port, which makes the port `DOWN` until its host plugs it. On a routed network, its
 * addresses follow the host.
 * @param previous the active binding
 * @returns whether the binding has changed
 */
export function rebind(
  context: NetworkContext,
  port: PortRecord,
  change: BindingChange,
  previous = activeBindingOf(context, port.id),
): boolean {
  if (Object.keys(change).length === 0) {
    return false;
  }
  const binding = previous ? changeBinding(context, previous, change) : createActiveBinding(context, port.id, change);
  if (binding === undefined) {
    return false;
  }
  setStatus(context, port, binding.is_plugged);
  const { host = "" } = change;
  if (host !== "" && host !== previous?.host) {
    adaptAddresses(context, port, host);
  }
  return true;
}

function adaptAddresses(context: NetworkContext, port: PortRecord, host: string): void {
  const isDeferred = port.ip_allocation === "deferred";
  if (!isDeferred && !isRouted(context, port.network_id)) {
    return;
  }
  const addresses = adaptAddressesToHost(context, { ...port, "binding:host_id": host });
  if (isDeferred && addresses.length > 0) {
    context.table(PORTS).update(port.id, { ip_allocation: "immediate" });
  }
}

/** Whether the network has subnets that not all hosts reach. */
function isRouted({ sql }: NetworkContext, networkId: string): boolean {
  const text = "SELECT 1 FROM network_subnets WHERE network_id = ? AND segment_id IS NOT NULL LIMIT 1";
  return sql.get(text, networkId) !== undefined;
}
