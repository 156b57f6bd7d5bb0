/** Settings of the Network service: section `[network]` of the cluster's file. */
export interface NetworkOptions {
  /** Limits of projects that have none of their own, by resource: `{ port: 500 }`; -1: none. */
  readonly quotas: Readonly<Record<string, number>>;
  /** Neutron's `global_physnet_mtu`. Tunnels take 50 bytes of it. */
  readonly mtu: number;
  /** Neutron's `network_vlan_ranges`: ids by physical network. Projects' networks use the first with a free id. */
  readonly vlanRanges: Readonly<Record<string, readonly (readonly [first: number, last: number])[]>>;
  /** Neutron's `flat_networks`. */
  readonly flatNetworks: readonly string[];
  /** Neutron's `vni_ranges` of VXLAN, `tunnel_id_ranges` of GRE, and `vni_ranges` of Geneve. */
  readonly vxlanRange: readonly [first: number, last: number];
  readonly greRange: readonly [first: number, last: number];
  readonly geneveRange: readonly [first: number, last: number];
  /** Neutron's `default_availability_zones`. */
  readonly availabilityZone: string;
  /** Seconds after the last heartbeat at which an agent counts as down: Compute's `service_down_time`. */
  readonly agentDownTime: number;
  /** Neutron's `dns_domain`. */
  readonly dnsDomain: string;
}

export const DEFAULT_NETWORK_OPTIONS: NetworkOptions = {
  quotas: {},
  mtu: 1500,
  vlanRanges: { physnet1: [[100, 199]], public: [[1, 4094]] },
  flatNetworks: ["public"],
  vxlanRange: [1, 1000],
  greRange: [1, 1000],
  geneveRange: [1, 1000],
  availabilityZone: "nova",
  agentDownTime: 60,
  dnsDomain: "openstacklocal.",
};
