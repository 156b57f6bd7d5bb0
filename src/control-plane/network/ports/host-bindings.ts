import type { Json } from "../../http/json.js";
import { isOneOf, where } from "../../resources/condition.js";
import { isHostAlive } from "../agents/agents.js";
import type { NetworkContext } from "../engine/network-context.js";
import { invalidOperation } from "../engine/network-errors.js";
import { unexpectedType } from "../engine/python-values.js";
import {
  type BindingDetails,
  PORT_BINDINGS,
  PORTS,
  type PortBindingRecord,
  type PortRecord,
} from "../resources/ports.js";
import { followParentPort } from "../trunk/parent-port.js";

/** Max length of a profile as JSON. */
const MAX_PROFILE_LENGTH = 4095;

/** Details of a guest's interface on a host with Open vSwitch. */
const OVS_DETAILS: Readonly<Record<string, Json>> = {
  connectivity: "l2",
  port_filter: true,
  ovs_hybrid_plug: null,
  datapath_type: "system",
  bridge_name: "br-int",
};

/** The desired binding of a port. Absent: unchanged. */
export interface BindingChange {
  /** Empty: unbound. */
  readonly host?: string;
  readonly vnicType?: string;
  readonly profile?: BindingDetails;
}

/** Returns the bindings of ports by the ports' ids, the active one first. */
export function bindingsOf(
  context: NetworkContext,
  portIds: readonly string[],
): ReadonlyMap<string, readonly PortBindingRecord[]> {
  const rows = context
    .table(PORT_BINDINGS)
    .find(isOneOf("port_id", portIds), "ORDER BY status, network_port_bindings.rowid");
  const bindings = new Map<string, PortBindingRecord[]>();
  for (const binding of rows) {
    const list = bindings.get(binding.port_id) ?? [];
    list.push(binding);
    bindings.set(binding.port_id, list);
  }
  return bindings;
}

/** Returns the active binding; undefined if a user has deleted it. */
export function activeBindingOf(context: NetworkContext, portId: string): PortBindingRecord | undefined {
  return context.table(PORT_BINDINGS).first(where`port_id = ${portId} AND status = 'ACTIVE'`);
}

/** Neutron validates no type of a host. @throws {HttpError} 400 for one that the database would abort the process for */
export function assertHost(host: unknown): void {
  if (host !== null && host !== undefined && typeof host !== "string") {
    throw unexpectedType();
  }
}

/** Creates the active binding of a port. */
export function createActiveBinding(context: NetworkContext, portId: string, change: BindingChange): PortBindingRecord {
  return insertBinding(context, portId, "ACTIVE", change);
}

export function insertBinding(
  context: NetworkContext,
  portId: string,
  status: "ACTIVE" | "INACTIVE",
  { host = "", vnicType = "normal", profile = {} }: BindingChange,
): PortBindingRecord {
  validateProfile(profile);
  const binding = {
    id: context.services.random.uuid(),
    port_id: portId,
    host,
    vnic_type: vnicType,
    profile,
    status,
    is_plugged: false,
    ...bindTo(context, host, vnicType),
  };
  context.table(PORT_BINDINGS).insert(binding);
  return binding;
}

/**
 * Changes a binding and binds it again; nothing happens if nothing differs.
 * @returns the binding if it has changed
 */
export function changeBinding(
  context: NetworkContext,
  binding: PortBindingRecord,
  change: BindingChange,
): PortBindingRecord | undefined {
  const { host = binding.host, vnicType = binding.vnic_type, profile = binding.profile ?? {} } = change;
  const isEqual =
    host === binding.host &&
    vnicType === binding.vnic_type &&
    JSON.stringify(profile) === JSON.stringify(binding.profile ?? {});
  const hasFailed = host !== "" && ["unbound", "binding_failed"].includes(binding.vif_type);
  if (isEqual && !hasFailed) {
    return undefined;
  }
  validateProfile(profile);
  const columns = {
    host,
    vnic_type: vnicType,
    profile,
    is_plugged: binding.is_plugged && host === binding.host,
    ...bindTo(context, host, vnicType),
  };
  context.table(PORT_BINDINGS).update(binding.id, columns);
  return isEqual ? undefined : { ...binding, ...columns };
}

/**
 * Stores the status that follows from the active binding: `ACTIVE` once its host has plugged the port. A trunk follows its
 * parent port.
 */
export function refreshStatus(context: NetworkContext, portId: string): void {
  const port = context.table(PORTS).get(portId);
  if (port !== undefined) {
    setStatus(context, port, activeBindingOf(context, portId)?.is_plugged ?? false);
  }
}

/** Like {@link refreshStatus}, for a port and an active binding that were just read. */
export function setStatus(
  context: NetworkContext,
  { id, status: previous }: Pick<PortRecord, "id" | "status">,
  isPlugged: boolean,
): void {
  const status = isPlugged ? "ACTIVE" : "DOWN";
  if (previous !== status) {
    context.table(PORTS).update(id, { status });
  }
  followParentPort(context, id);
}

/**
 * Binds as the mechanism driver `openvswitch` does: normal ports on hosts with a live L2 agent. Ports of bare-metal nodes
 * are bound without an agent, as the driver `baremetal` does.
 */
function bindTo(
  context: NetworkContext,
  host: string,
  vnicType: string,
): Pick<PortBindingRecord, "vif_type" | "vif_details"> {
  if (host === "") {
    return { vif_type: "unbound", vif_details: {} };
  }
  if (vnicType === "baremetal") {
    return { vif_type: "other", vif_details: {} };
  }
  return vnicType === "normal" && isHostAlive(context, host)
    ? { vif_type: "ovs", vif_details: OVS_DETAILS }
    : { vif_type: "binding_failed", vif_details: {} };
}

/** @throws {HttpError} 400 */
function validateProfile(profile: BindingDetails): void {
  if (JSON.stringify(profile).length > MAX_PROFILE_LENGTH) {
    throw invalidOperation("binding:profile value too large");
  }
}
