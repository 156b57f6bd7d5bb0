import { and, where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import type { NetworkResource } from "../engine/network-resource.js";
import { updateRecord } from "../engine/records.js";
import { visibleTo } from "../engine/sharing.js";
import { PORT_BINDINGS, PORTS } from "../resources/ports.js";
import { TRUNKS } from "../resources/trunks.js";
import { subPortsOf, trunkOfSubPort } from "./subports.js";

/** Device owner of a subport while its trunk is on a host. */
const SUBPORT_OWNER = "trunk:subport";

/**
 * Rejects the deletion of a port that a trunk has as a subport, or that is the parent of a trunk which the caller sees.
 * Another project's trunk goes with its parent port.
 * @throws {HttpError} 409
 */
export function portGuard(context: NetworkContext, { id }: { readonly id: string }): void {
  const trunkId = trunkOfSubPort(context, id);
  if (trunkId !== undefined) {
    throw networkError(409, "PortInUseAsSubPort", `Port ${id} is currently a subport for trunk ${trunkId}.`);
  }
  const visible = visibleTo(context, TRUNKS as unknown as NetworkResource);
  const trunk = context.table(TRUNKS).first(and(where`port_id = ${id}`, visible));
  if (trunk !== undefined) {
    const message = `Port ${id} is currently a parent port for trunk ${trunk.id}.`;
    throw networkError(409, "PortInUseAsTrunkParent", message);
  }
}

/**
 * Makes the trunk of a port, if it has one, and its subports follow the port's binding, as the L2 agent of the host does:
 * they are `ACTIVE` on the host that has plugged the port. The port is plugged into the bridge of the trunk.
 */
export function followParentPort(context: NetworkContext, portId: string): void {
  const trunk = context.table(TRUNKS).first(where`port_id = ${portId}`);
  if (trunk === undefined) {
    return;
  }
  const binding = context.table(PORT_BINDINGS).first(where`port_id = ${portId} AND status = 'ACTIVE'`);
  if (binding?.vif_type === "ovs") {
    const details = { ...binding.vif_details, bridge_name: bridgeOf(trunk.id) };
    context.table(PORT_BINDINGS).update(binding.id, { vif_details: details });
  }
  const parent = { host: binding?.host ?? "", isPlugged: binding?.is_plugged ?? false };
  for (const { port_id: id } of subPortsOf(context, [trunk.id]).get(trunk.id) ?? []) {
    bindSubPort(context, id, parent);
  }
  const status = parent.isPlugged ? "ACTIVE" : "DOWN";
  if (trunk.status !== status) {
    context.table(TRUNKS).update(trunk.id, { status });
    context.touch(TRUNKS, trunk.id);
  }
}

/** Returns the name of the bridge that Open vSwitch has for a trunk, which is as long as that of a device. */
const bridgeOf = (trunkId: string): string => `tbr-${trunkId}`.slice(0, 14);

/** Takes a former subport off the host of its trunk. */
export function releaseSubPort(context: NetworkContext, portId: string): void {
  bindSubPort(context, portId, { host: "", isPlugged: false });
}

function bindSubPort(
  context: NetworkContext,
  portId: string,
  { host, isPlugged }: { readonly host: string; readonly isPlugged: boolean },
): void {
  const port = context.table(PORTS).get(portId);
  const binding = context.table(PORT_BINDINGS).first(where`port_id = ${portId} AND status = 'ACTIVE'`);
  if (port === undefined || binding === undefined || (binding.host === host && binding.is_plugged === isPlugged)) {
    return;
  }
  const owner = host === "" ? "" : SUBPORT_OWNER;
  updateRecord(context.internal, PORTS, portId, { "binding:host_id": host, device_owner: owner });
  context.table(PORT_BINDINGS).update(binding.id, { is_plugged: isPlugged });
  context.table(PORTS).update(portId, { status: isPlugged ? "ACTIVE" : "DOWN" });
}
