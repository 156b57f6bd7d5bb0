import type { Members } from "../differential/known-records.js";
import {
  type BodySource,
  between,
  bool,
  type Choices,
  common,
  description,
  freeAddress,
  idOf,
  name,
  oneOf,
  project,
  type Subject,
  some,
} from "./subject.js";

/** A subnet's own block: no two subnets overlap, so that addresses identify their subnet. */
function subnet(source: BodySource): Members {
  const { random, count, records } = source;
  const network_id = idOf("networks")(source);
  const others = records.of("subnets").filter(({ attributes }) => attributes.network_id === network_id);
  // A port's addresses come from the subnets that its owner sees.
  const owner = source.records.get(network_id)?.attributes.project_id;
  const more = some(source, {
    ...common,
    project_id: [owner === undefined ? 0 : 1, () => owner],
    enable_dhcp: [0.2, bool],
    dns_nameservers: [0.2, oneOf(["9.9.9.9"], ["8.8.8.8", "1.1.1.1"], ["8.8.8.8", "8.8.8.8"], [])],
    host_routes: [0.15, oneOf([{ destination: "10.250.0.0/16", nexthop: "10.9.9.9" }], [])],
    service_types: [0.08, oneOf(["compute:nova"], ["network:router_gateway"], ["bogus"])],
  });
  const number = count();
  if (others.length > 0) {
    // Of several subnets Neutron chooses any, except that a port has an address of each SLAAC subnet.
    const slaac = { ip_version: 6, ipv6_address_mode: "slaac", ipv6_ra_mode: "slaac" };
    return { network_id, ...slaac, cidr: `fd00:${number.toString(16)}::/64`, ...more };
  }
  if (random.chance(0.15)) {
    const ip_version = random.pick([4, 4, 6]);
    return {
      network_id,
      ip_version,
      subnetpool_id: idOf("subnetpools")(source),
      ...more,
      ...some(source, { prefixlen: [0.4, between(24, 30)] }),
    };
  }
  if (random.chance(0.25)) {
    const mode = random.pick(["slaac", "dhcpv6-stateless", "dhcpv6-stateful"]);
    const modes = random.chance(0.6)
      ? { ipv6_address_mode: mode, ipv6_ra_mode: random.chance(0.85) ? mode : "slaac" }
      : {};
    const prefix = random.chance(0.93) ? 64 : 80;
    return { network_id, ip_version: 6, cidr: `fd00:${number.toString(16)}::/${prefix}`, ...modes, ...more };
  }
  const block = `10.${100 + Math.floor(number / 250)}.${number % 250}`;
  const gateway = random.pick([undefined, undefined, undefined, null, `${block}.1`, `${block}.254`, `${block}.20`]);
  return {
    network_id,
    ip_version: 4,
    cidr: `${block}.${random.chance(0.95) ? 0 : 7}/${random.pick([24, 24, 24, 24, 25])}`,
    allocation_pools: [{ start: `${block}.10`, end: `${block}.99` }],
    ...(gateway === undefined ? {} : { gateway_ip: gateway }),
    ...more,
  };
}

function fixedIps(source: BodySource): readonly Members[] {
  const { random } = source;
  const subnet_id = idOf("subnets")(source);
  return random.pick([
    [],
    [{ subnet_id }],
    [{ subnet_id, ip_address: freeAddress(source, subnet_id) }],
    [{ ip_address: freeAddress(source, subnet_id) }],
    [{ subnet_id }, { subnet_id }],
  ]);
}

/** Mostly a subnet of the network. */
function fixedIpsOf(source: BodySource, networkId: string): readonly Members[] {
  const { random, records } = source;
  const subnets = records.of("subnets").filter(({ attributes }) => attributes.network_id === networkId);
  if (subnets.length === 0 || random.chance(0.1)) {
    return fixedIps(source);
  }
  const subnet_id = random.pick(subnets).id;
  return random.pick([
    [{ subnet_id }],
    [{ subnet_id, ip_address: freeAddress(source, subnet_id) }],
    [{ ip_address: freeAddress(source, subnet_id) }],
  ]);
}

const pairs = oneOf<unknown>(
  [{ ip_address: "10.1.1.0/24" }],
  [{ ip_address: "10.1.1.7", mac_address: "fa:16:3e:aa:bb:cc" }],
  [{ ip_address: "10.1.1.7" }, { ip_address: "10.1.1.7" }],
  [],
);
const groups = (source: BodySource) => source.random.pick([[], [idOf("security_groups")(source)]]);
const ofPort: Choices = {
  admin_state_up: [0.15, bool],
  security_groups: [0.2, groups],
  port_security_enabled: [0.12, bool],
  allowed_address_pairs: [0.1, pairs],
  extra_dhcp_opts: [0.07, oneOf([{ opt_name: "mtu", opt_value: "1400" }], [{ opt_name: "mtu", opt_value: null }], [])],
  device_id: [0.15, oneOf("11111111-2222-4333-8444-555555555555", "dev", "")],
  device_owner: [0.12, oneOf("compute:nova", "network:dhcp", "custom:x", "")],
  "binding:host_id": [0.12, oneOf("devstack1", "devstack2", "nohost", "")],
  "binding:vnic_type": [0.06, oneOf("normal", "direct", "bogus")],
  "binding:profile": [0.04, oneOf({}, { a: 1 }, null)],
  qos_policy_id: [0.08, (source) => source.random.pick([null, idOf("policies")(source)])],
  dns_name: [0.08, oneOf("host", "Upper", "bad_name", "")],
  mac_address: [0.06, oneOf("fa:16:3e:00:00:01", "fa:16:3e:00:00:02", "00:00:00:00:00:00")],
};

function port(source: BodySource): Members {
  const network_id = idOf("networks")(source);
  return {
    network_id,
    ...some(source, {
      ...common,
      ...ofPort,
      fixed_ips: [0.3, (from) => fixedIpsOf(from, network_id)],
      numa_affinity_policy: [0.03, oneOf("required", "bogus", null)],
    }),
  };
}

const subport = (source: BodySource): Members => ({
  port_id: idOf("ports")(source),
  ...some(source, {
    segmentation_type: [0.9, oneOf("vlan", "vlan", "inherit", "bogus")],
    segmentation_id: [0.9, between(1, 20)],
  }),
});
const subports = (source: BodySource): Members => ({
  sub_ports: source.random.pick([[subport(source)], [subport(source), subport(source)], []]),
});

export const LAYER2_SUBJECTS: readonly Subject[] = [
  {
    collection: "networks",
    singular: "network",
    path: "/v2.0/networks",
    weight: 9,
    create: (source) =>
      some(source, {
        ...common,
        admin_state_up: [0.2, bool],
        shared: [0.12, bool],
        "router:external": [0.08, bool],
        mtu: [0.1, oneOf(1400, 1500, 9000, 60, 0)],
        port_security_enabled: [0.12, bool],
        dns_domain: [0.06, oneOf("example.org.", "bad_", "")],
        "provider:network_type": [0.05, oneOf("vxlan", "vlan", "flat", "local", "bogus")],
        qos_policy_id: [0.06, (from) => from.random.pick([null, idOf("policies")(from)])],
        availability_zone_hints: [0.04, oneOf([], ["nova"], ["mars"])],
        is_default: [0.02, bool],
        vlan_transparent: [0.01, bool],
      }),
    update: (source) =>
      some(source, {
        ...common,
        project_id: [0.02, project],
        admin_state_up: [0.3, bool],
        shared: [0.15, bool],
        "router:external": [0.06, bool],
        mtu: [0.12, oneOf(1400, 9000, 60)],
        port_security_enabled: [0.15, bool],
        dns_domain: [0.06, oneOf("example.com.", "")],
        qos_policy_id: [0.1, (from) => from.random.pick([null, idOf("policies")(from)])],
      }),
    filters: [
      "name",
      "status",
      "shared",
      "admin_state_up",
      "router:external",
      "provider:network_type",
      "project_id",
      "tenant_id",
      "id",
      "mtu",
      "description",
      "tags",
      "not-tags-any",
      "is_default",
      "availability_zone_hints",
    ],
  },
  {
    collection: "subnets",
    singular: "subnet",
    path: "/v2.0/subnets",
    weight: 10,
    create: subnet,
    update: (source, { cidr }) => {
      const block = String(cidr).split(".").slice(0, 3).join(".");
      return some(source, {
        ...common,
        project_id: [0.02, project],
        enable_dhcp: [0.25, bool],
        gateway_ip: [0.2, oneOf(null, `${block}.1`, `${block}.253`, `${block}.30`, "192.0.2.1")],
        dns_nameservers: [0.2, oneOf(["9.9.9.9"], ["1.1.1.1", "8.8.8.8"], ["x"])],
        host_routes: [0.15, oneOf([{ destination: "10.251.0.0/16", nexthop: "10.9.9.8" }], [])],
        allocation_pools: [
          0.15,
          oneOf(
            [{ start: `${block}.10`, end: `${block}.99` }],
            [{ start: `${block}.90`, end: `${block}.99` }],
            [{ start: `${block}.99`, end: `${block}.10` }],
          ),
        ],
        service_types: [0.05, oneOf(["compute:nova"], [])],
      });
    },
    filters: [
      "name",
      "network_id",
      "cidr",
      "ip_version",
      "enable_dhcp",
      "gateway_ip",
      "subnetpool_id",
      "ipv6_address_mode",
      "project_id",
      "id",
      "shared",
      "tags",
      "service_types",
    ],
  },
  {
    collection: "ports",
    singular: "port",
    path: "/v2.0/ports",
    weight: 18,
    create: port,
    update: (source, { network_id }) =>
      some(source, {
        ...common,
        ...ofPort,
        project_id: [0.02, project],
        fixed_ips: [0.15, (from) => fixedIpsOf(from, String(network_id))],
      }),
    filters: [
      "name",
      "network_id",
      "device_id",
      "device_owner",
      "status",
      "mac_address",
      "fixed_ips",
      "security_groups",
      "binding:host_id",
      "project_id",
      "id",
      "admin_state_up",
      "tags",
      "description",
    ],
  },
  {
    collection: "trunks",
    singular: "trunk",
    path: "/v2.0/trunks",
    weight: 5,
    create: (source) => ({
      port_id: idOf("ports")(source),
      ...some(source, { ...common, admin_state_up: [0.15, bool], sub_ports: [0.35, (from) => [subport(from)]] }),
    }),
    update: (source) =>
      some(source, { name: [0.7, name], description: [0.3, description], admin_state_up: [0.3, bool] }),
    actions: {
      add_subports: subports,
      remove_subports: (source, { sub_ports: own }) => ({
        sub_ports:
          Array.isArray(own) && own.length > 0 && source.random.chance(0.7)
            ? [{ port_id: (own[0] as Members).port_id }]
            : [{ port_id: idOf("ports")(source) }],
      }),
      get_subports: () => undefined,
    },
    filters: ["name", "port_id", "status", "project_id", "admin_state_up"],
  },
  {
    collection: "segments",
    singular: "segment",
    path: "/v2.0/segments",
    weight: 2,
    create: (source) => {
      const network_type = oneOf("vlan", "vxlan", "flat", "bogus")(source);
      return {
        network_id: idOf("networks")(source),
        network_type,
        ...some(source, {
          // Neutron forgets the physical network that it chooses for a segment of the API.
          physical_network: [network_type === "vlan" ? 1 : 0.6, oneOf("physnet1", "nophys")],
          segmentation_id: [0.8, between(150, 199)],
          name: [0.6, name],
          description: [0.2, description],
        }),
      };
    },
    update: (source) => some(source, { name: [0.8, name], description: [0.4, description] }),
    filters: ["network_id", "network_type", "physical_network", "name"],
  },
  {
    collection: "network_segment_ranges",
    singular: "network_segment_range",
    path: "/v2.0/network-segment-ranges",
    weight: 1,
    create: (source) =>
      some(source, {
        name: [0.9, name],
        shared: [0.6, bool],
        network_type: [0.95, oneOf("vxlan", "vlan", "gre", "flat")],
        physical_network: [0.4, oneOf("physnet1", null)],
        minimum: [0.95, between(500, 900)],
        maximum: [0.95, between(600, 990)],
        project_id: [0.2, project],
      }),
    update: (source) => some(source, { name: [0.8, name], minimum: [0.2, between(500, 900)] }),
    filters: ["name", "network_type", "shared", "default"],
  },
  {
    collection: "bindings",
    singular: "binding",
    path: "/v2.0/ports/{parent}/bindings",
    parent: "ports",
    weight: 2,
    create: (source) =>
      some(source, {
        host: [0.95, oneOf("devstack1", "devstack2", "devstack3", "nohost")],
        vnic_type: [0.1, oneOf("normal", "direct")],
        profile: [0.1, oneOf({}, { a: 1 })],
      }),
  },
];
