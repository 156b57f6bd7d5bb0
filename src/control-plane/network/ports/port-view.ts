import { isoSeconds } from "../../http/times.js";
import { addressText } from "../../store/flat-subnet.js";
import type { Port } from "../../store/ports.js";
import type { Attributes } from "../api/listing.js";
import { FLAT_NETWORK } from "../flat/flat-network.js";

/** What each network of a guest is made of on a host with Open vSwitch. */
const VIF_DETAILS = { port_filter: true, connectivity: "l2", bridge_name: "br-int", datapath_type: "system" };

/** Where the server is the port is bound; it works when that host has connected it. */
export function portStatus({ host, pluggedOn }: Pick<Port, "host" | "pluggedOn">): "ACTIVE" | "DOWN" {
  return host !== null && pluggedOn.includes(host) ? "ACTIVE" : "DOWN";
}

export const fixedIps = ({ address }: Pick<Port, "address">) => [
  { subnet_id: FLAT_NETWORK.subnetId, ip_address: addressText(address) },
];

export const PORT: Attributes<Port> = {
  id: ({ uuid }) => uuid,
  name: ({ name }) => name,
  network_id: () => FLAT_NETWORK.id,
  tenant_id: ({ projectId }) => projectId,
  project_id: ({ projectId }) => projectId,
  mac_address: ({ mac }) => mac,
  admin_state_up: ({ adminStateUp }) => adminStateUp,
  status: portStatus,
  device_id: ({ deviceId }) => deviceId,
  device_owner: ({ deviceOwner }) => deviceOwner,
  fixed_ips: fixedIps,
  security_groups: ({ securityGroups }) => securityGroups,
  allowed_address_pairs: () => [],
  extra_dhcp_opts: () => [],
  "binding:vnic_type": () => "normal",
  port_security_enabled: () => true,
  description: ({ description }) => description,
  tags: ({ uuid }, { store }) => [...store.networkTags.of(uuid)],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ updatedAt }) => isoSeconds(updatedAt),
  revision_number: ({ revision }) => revision,
};

export function bindingAt(host: string | null) {
  return host === null
    ? { vif_type: "unbound", vif_details: {}, profile: {} }
    : { vif_type: "ovs", vif_details: VIF_DETAILS, profile: {} };
}

export const BINDING: Attributes<Port> = {
  "binding:host_id": ({ host }) => host ?? "",
  "binding:vif_type": ({ host }) => bindingAt(host).vif_type,
  "binding:vif_details": ({ host }) => bindingAt(host).vif_details,
  "binding:profile": ({ host }) => bindingAt(host).profile,
};
