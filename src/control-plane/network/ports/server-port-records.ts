import { type Condition, isOneOf } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS, type PortBindingRecord, type PortRecord } from "../resources/ports.js";
import type { FloatingAddress, ServerPort, ServerPortBinding } from "../server-ports.js";
import { bindingsOf } from "./host-bindings.js";
import { groupsOfPorts } from "./security-groups-of-ports.js";

/** Reads ports in the order of their creation, with one query for each kind of record. */
export function readServerPorts(context: NetworkContext, condition: Condition): readonly ServerPort[] {
  const ports = context.table(PORTS).find(condition);
  if (ports.length === 0) {
    return [];
  }
  const ids = ports.map(({ id }) => id);
  const networkIds = [...new Set(ports.map(({ network_id: id }) => id))];
  const networks = new Map(
    context
      .table(NETWORKS)
      .find(isOneOf("id", networkIds))
      .map((network) => [network.id, network]),
  );
  const addresses = fixedIpsOf(context, ids);
  const floating = floatingAddressesOf(context, ids);
  const groups = groupsOfPorts(context, ids);
  const bindings = bindingsOf(context, ids);
  return ports.map((port): ServerPort => {
    const network = networks.get(port.network_id);
    return {
      ...describePort(port),
      ...describeBindings(bindings.get(port.id) ?? []),
      networkName: network?.name ?? "",
      mtu: network?.mtu ?? 0,
      fixedIps: (addresses.get(port.id) ?? []).map(({ subnet_id: subnetId, ip_address: address }) => ({
        subnetId,
        address,
        version: address.includes(":") ? 6 : 4,
      })),
      floatingIps: floating.get(port.id) ?? [],
      securityGroupIds: groups.get(port.id) ?? [],
    };
  });
}

function describePort(port: PortRecord) {
  return {
    id: port.id,
    name: port.name,
    projectId: port.project_id,
    networkId: port.network_id,
    macAddress: port.mac_address,
    isAdminStateUp: port.admin_state_up,
    status: port.status as ServerPort["status"],
    deviceId: port.device_id,
    deviceOwner: port.device_owner,
    ipAllocation: port.ip_allocation as ServerPort["ipAllocation"],
    isPortSecurityEnabled: port.port_security_enabled,
    tag: port.device_tag,
    madeForServer: port.made_for_server,
    qosPolicyId: port.qos_policy_id,
    numaAffinityPolicy: port.numa_affinity_policy,
    deviceProfile: port.device_profile,
  };
}

function describeBindings(bindings: readonly PortBindingRecord[]) {
  const active = bindings.find(({ status }) => status === "ACTIVE");
  return {
    vnicType: active?.vnic_type ?? "normal",
    host: active?.host ? active.host : null,
    vifType: active?.vif_type ?? "unbound",
    vifDetails: active?.vif_details ?? {},
    profile: active?.profile ?? {},
    bindings: bindings
      .filter(({ host }) => host !== "")
      .map(
        ({ host, status, vif_type, vif_details, profile, is_plugged }): ServerPortBinding => ({
          host,
          status: status === "ACTIVE" ? "ACTIVE" : "INACTIVE",
          vifType: vif_type,
          vifDetails: vif_details ?? {},
          profile: profile ?? {},
          isPlugged: is_plugged,
        }),
      ),
    pluggedOn: bindings.filter(({ is_plugged: isPlugged }) => isPlugged).map(({ host }) => host),
  };
}

function floatingAddressesOf(
  { sql }: NetworkContext,
  portIds: readonly string[],
): ReadonlyMap<string, readonly FloatingAddress[]> {
  const chosen = isOneOf("port_id", portIds);
  const rows = sql.all(
    `SELECT port_id, floating_ip_address, fixed_ip_address FROM network_floatingips WHERE ${chosen.sql} ORDER BY rowid`,
    ...chosen.values,
  );
  const addresses = new Map<string, FloatingAddress[]>();
  for (const [port, address, fixedAddress] of rows) {
    const list = addresses.get(String(port)) ?? [];
    list.push({ address: String(address), fixedAddress: String(fixedAddress) });
    addresses.set(String(port), list);
  }
  return addresses;
}
