import type { Computed, ListFilters, NetworkContext } from "../engine/network-context.js";
import { fixedIpsOf } from "../ipam/allocate-addresses.js";
import type { BindingDetails, PortBindingRecord, PortRecord } from "../resources/ports.js";
import { trunkDetailsOf } from "../trunk/trunk-details.js";
import { assignNames } from "./dns-names.js";
import { bindingsOf } from "./host-bindings.js";
import { resourceRequestsOf } from "./resource-requests.js";
import { groupsOfPorts } from "./security-groups-of-ports.js";

/** Computes the attributes of ports that other tables store, with one query for each of them. */
export function viewPorts(
  context: NetworkContext,
  ports: readonly PortRecord[],
  filters?: ListFilters,
): readonly Computed[] {
  const ids = ports.map(({ id }) => id);
  const addresses = fixedIpsOf(context, ids);
  const groups = groupsOfPorts(context, ids);
  const bindings = bindingsOf(context, ids);
  const networkPolicies = qosPoliciesOf(context, new Set(ports.map(({ network_id: id }) => id)));
  const vnicTypeOf = (id: string) => activeOf(bindings, id)?.vnic_type ?? "normal";
  const requests = resourceRequestsOf(
    context,
    ports.map(({ id, network_id: networkId, qos_policy_id: own }) => ({
      id,
      networkId,
      policyId: own ?? networkPolicies.get(networkId) ?? null,
      vnicType: vnicTypeOf(id),
    })),
  );
  const trunks = trunkDetailsOf(context, ids);
  return ports.map((port) => {
    const { id, network_id: networkId } = port;
    const fixedIps = addresses.get(id) ?? [];
    const binding = activeOf(bindings, id);
    return {
      fixed_ips: fixedIps,
      security_groups: groups.get(id) ?? [],
      allowed_address_pairs: port.allowed_address_pairs ?? [],
      extra_dhcp_opts: port.extra_dhcp_opts ?? [],
      qos_network_policy_id: networkPolicies.get(networkId) ?? null,
      dns_assignment: assignNames(context, port.dns_name, fixedIps),
      "binding:vnic_type": vnicTypeOf(id),
      "binding:profile": binding?.profile ?? {},
      "binding:host_id": binding?.host ?? "",
      "binding:vif_type": binding?.vif_type ?? "unbound",
      "binding:vif_details": filters && binding ? detailsOf(binding) : (binding?.vif_details ?? {}),
      trunk_details: trunks.get(id),
      resource_request: requests.get(id) ?? null,
    };
  });
}

/** Returns the details of a binding with its mechanism driver, which responses to requests that bind a port lack. */
export function detailsOf({ vif_type: type, vif_details: details }: BoundInterface): BindingDetails {
  return type === "ovs" ? { ...details, bound_drivers: { "0": "openvswitch" } } : (details ?? {});
}

type BoundInterface = Pick<PortBindingRecord, "vif_type" | "vif_details">;

function activeOf(bindings: ReturnType<typeof bindingsOf>, id: string) {
  return bindings.get(id)?.find(({ status }) => status === "ACTIVE");
}

/** Returns the QoS policies of networks that have one. */
function qosPoliciesOf({ sql }: NetworkContext, networkIds: ReadonlySet<string>): ReadonlyMap<string, string> {
  const rows = sql.all(
    `SELECT id, qos_policy_id FROM network_networks
      WHERE id IN (SELECT value FROM json_each(?)) AND qos_policy_id IS NOT NULL`,
    JSON.stringify([...networkIds]),
  );
  return new Map(rows.map(([id, policy]) => [String(id), String(policy)]));
}
