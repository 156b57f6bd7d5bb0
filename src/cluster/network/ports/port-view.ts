import { isoSeconds } from "../../http/times.js";
import { addressText } from "../../store/flat-subnet.js";
import type { Port } from "../../store/ports.js";
import type { Attributes } from "../api/listing.js";
import { FLAT_NETWORK } from "../flat/flat-network.js";

/** What each network of a guest is made of on a host with Open vSwitch. */
const VIF_DETAILS = { port_filter: true, connectivity: "l2", bridge_name: "br-int", datapath_type: "system" };

/** Where the server is the port is bound, and works. */
export function portStatus({ host }: Pick<Port, "host">): "ACTIVE" | "DOWN" {
  return host === null ? "DOWN" : "ACTIVE";
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
  tags: () => [],
  created_at: ({ createdAt }) => isoSeconds(createdAt),
  updated_at: ({ updatedAt }) => isoSeconds(updatedAt),
  revision_number: ({ revision }) => revision,
};

export const BINDING: Attributes<Port> = {
  "binding:host_id": ({ host }) => host ?? "",
  "binding:vif_type": ({ host }) => (host === null ? "unbound" : "ovs"),
  "binding:vif_details": ({ host }) => (host === null ? {} : VIF_DETAILS),
  "binding:profile": () => ({}),
};
