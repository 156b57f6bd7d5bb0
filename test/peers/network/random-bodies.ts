import { NEUTRON_CALLERS, type NeutronCaller } from "../../fixtures/neutron/neutron-callers.js";
import type { KnownRecords, Members } from "./known-records.js";
import type { Random } from "./random.js";

/** What bodies are made from. */
export interface BodySource {
  readonly random: Random;
  readonly records: KnownRecords;
  readonly caller: NeutronCaller;
  /** Returns another number at each call. */
  readonly count: () => number;
}

/** A collection of which requests are sent. */
export interface Subject {
  readonly collection: string;
  readonly singular: string;
  readonly path: string;
  /** Below a record of this collection: `floatingips`. */
  readonly parent?: string;
  readonly weight: number;
  readonly create?: (source: BodySource) => Members;
  readonly update?: (source: BodySource, record: Members) => Members;
  /** Member actions with their bodies. */
  readonly actions?: Readonly<Record<string, (source: BodySource, record: Members) => Members | undefined>>;
  readonly filters?: readonly string[];
}

type Choices = Readonly<Record<string, readonly [probability: number, value: (source: BodySource) => unknown]>>;

/** Returns those attributes that chance selects. */
function some(source: BodySource, choices: Choices): Members {
  const chosen = Object.entries(choices).filter(([, [probability]]) => source.random.chance(probability));
  return Object.fromEntries(chosen.map(([name, [, value]]) => [name, value(source)]));
}

const idOf =
  (collection: string) =>
  ({ random, records, caller }: BodySource): string =>
    records.pickId(random, collection, caller);
const oneOf =
  <T>(...values: readonly T[]) =>
  ({ random }: BodySource): T =>
    random.pick(values);
const between =
  (min: number, max: number) =>
  ({ random }: BodySource): number =>
    random.integer(min, max);
const bool = oneOf(true, false);
const name = ({ count }: BodySource) => `n${count()}`;
const description = oneOf("", "one", "two");
const project = oneOf(...Object.values(NEUTRON_CALLERS).map(({ projectId }) => projectId));
const projectOfOthers = ({ caller, random }: BodySource) =>
  caller === "admin" || random.chance(0.2) ? random.pick(PROJECTS) : NEUTRON_CALLERS[caller].projectId;
const PROJECTS = [...new Set(Object.values(NEUTRON_CALLERS).map(({ projectId }) => projectId))];
const tags = oneOf<readonly string[]>([], ["red"], ["red", "blue"], ["blue", "green"]);

const common: Choices = { name: [0.9, name], description: [0.3, description], project_id: [0.12, projectOfOthers] };
const adminOnly = (probability: number) => probability;

/** A subnet's own block: no two subnets overlap, so that addresses identify their subnet. */
function subnet(source: BodySource): Members {
  const { random, count } = source;
  const network_id = idOf("networks")(source);
  const more = some(source, {
    ...common,
    enable_dhcp: [0.2, bool],
    dns_nameservers: [0.2, oneOf(["9.9.9.9"], ["8.8.8.8", "1.1.1.1"], ["8.8.8.8", "8.8.8.8"], [])],
    host_routes: [0.15, oneOf([{ destination: "10.250.0.0/16", nexthop: "10.9.9.9" }], [])],
    service_types: [0.08, oneOf(["compute:nova"], ["network:router_gateway"], ["bogus"])],
    tags: [0.03, tags],
  });
  const number = count();
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

function freeAddress({ random, records }: BodySource, subnetId: unknown): string {
  const cidr = records.get(String(subnetId))?.attributes.cidr;
  const block = typeof cidr === "string" && cidr.includes(".") ? cidr.split(".").slice(0, 3).join(".") : undefined;
  return block === undefined ? "10.99.99.9" : `${block}.${random.integer(105, 120)}`;
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
  mac_address: [0.06, oneOf("fa:16:3e:00:00:01", "fa:16:3e:00:00:02", "00:00:00:00:00:00", "FA-16-3E-00-00-03")],
};

function port(source: BodySource): Members {
  const network_id = idOf("networks")(source);
  return {
    network_id,
    ...some(source, {
      ...common,
      ...ofPort,
      fixed_ips: [0.3, (from) => fixedIpsOf(from, network_id)],
      tags: [0.03, tags],
      numa_affinity_policy: [0.03, oneOf("required", "bogus", null)],
    }),
  };
}

const gateway = (source: BodySource) =>
  source.random.pick<unknown>([
    null,
    {},
    { network_id: external(source) },
    { network_id: external(source) },
    { network_id: external(source), enable_snat: false },
    { network_id: idOf("networks")(source) },
  ]);
const external = ({ records }: BodySource): string =>
  records.of("networks").find(({ attributes }) => attributes["router:external"] === true)?.id ?? "none";
const routes = (source: BodySource) =>
  source.random.pick<unknown>([
    [],
    [{ destination: "10.240.0.0/16", nexthop: freeAddress(source, idOf("subnets")(source)) }],
    [{ destination: "x", nexthop: "10.0.0.1" }],
  ]);
const routerTarget = (source: BodySource): Members =>
  source.random.pick<Members>([
    { subnet_id: idOf("subnets")(source) },
    { subnet_id: idOf("subnets")(source) },
    { port_id: idOf("ports")(source) },
    {},
  ]);
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

const bandwidth: Choices = {
  max_kbps: [0.9, oneOf(1000, 2000, -1)],
  max_burst_kbps: [0.4, oneOf(0, 100)],
  direction: [0.5, oneOf("egress", "ingress")],
};
const minimum: Choices = { min_kbps: [0.95, oneOf(100, 0, -2)], direction: [0.8, oneOf("egress", "ingress", "any")] };
const packets: Choices = { min_kpps: [0.95, oneOf(100, 0)], direction: [0.8, oneOf("egress", "ingress", "any")] };
const policyRules = (collection: string, singular: string, choices: Choices, path = collection): Subject => ({
  collection,
  singular,
  path: `/v2.0/qos/policies/{parent}/${path}`,
  parent: "policies",
  weight: 1.2,
  create: (source) => some(source, choices),
  update: (source) => some(source, choices),
});

const rule: Choices = {
  direction: [0.97, oneOf("ingress", "egress")],
  ethertype: [0.5, oneOf("IPv4", "IPv6", "ipv4", "bogus")],
  protocol: [
    0.7,
    oneOf<unknown>("tcp", "udp", "icmp", "TCP", 6, "17", "icmpv6", "any", "bogus", 300, null, "58", "sctp"),
  ],
  port_range_min: [0.5, oneOf<unknown>(1, 22, 80, 0, 70000, "x", null)],
  port_range_max: [0.5, oneOf<unknown>(1, 22, 80, 255, 70000, null)],
  remote_ip_prefix: [
    0.25,
    oneOf<unknown>("10.0.0.0/8", "10.1.2.3/8", "10.0.0.1", "fd00::/8", "0.0.0.0/0", "bogus", null),
  ],
  remote_group_id: [0.15, idOf("security_groups")],
  remote_address_group_id: [0.08, idOf("address_groups")],
  description: [0.2, description],
  project_id: [0.08, projectOfOthers],
};

const forwarding: Choices = {
  protocol: [0.97, oneOf("tcp", "udp", "icmp", "bogus")],
  external_port: [0.9, between(2000, 2005)],
  internal_port: [0.9, between(20, 24)],
  internal_port_id: [0.97, idOf("ports")],
  internal_ip_address: [0.6, addressOfPort],
  description: [0.2, description],
};

function addressOfPort({ random, records, caller }: BodySource): string {
  const fixed = records.pick(random, "ports", caller)?.attributes.fixed_ips;
  const [first] = Array.isArray(fixed) ? (fixed as readonly Members[]) : [];
  return String(first?.ip_address ?? "10.99.99.8");
}

const rbacTarget = ({ random }: BodySource) => random.pick(["*", ...PROJECTS]);
function rbacPolicy(source: BodySource): Members {
  const [object_type, collection, actions] = source.random.pick([
    ["network", "networks", ["access_as_shared", "access_as_external"]],
    ["security_group", "security_groups", ["access_as_shared"]],
    ["qos_policy", "policies", ["access_as_shared"]],
    ["address_scope", "address_scopes", ["access_as_shared"]],
    ["subnetpool", "subnetpools", ["access_as_shared"]],
    ["address_group", "address_groups", ["access_as_shared", "access_as_external"]],
  ] as const);
  const action = source.random.chance(0.95) ? source.random.pick(actions) : "bogus";
  return { object_type, object_id: idOf(collection)(source), action, target_tenant: rbacTarget(source) };
}

const prefixes = ({ count, random }: BodySource): readonly string[] => {
  const number = count();
  return random.pick([
    [`10.${200 + (number % 40)}.0.0/16`],
    [`192.168.${number % 250}.0/24`],
    [`fd10:${number.toString(16)}::/48`],
  ]);
};

export const SUBJECTS: readonly Subject[] = [
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
        "provider:network_type": [adminOnly(0.05), oneOf("vxlan", "vlan", "flat", "local", "bogus")],
        qos_policy_id: [0.06, (from) => from.random.pick([null, idOf("policies")(from)])],
        availability_zone_hints: [0.04, oneOf([], ["nova"], ["mars"])],
        is_default: [0.02, bool],
        tags: [0.03, tags],
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
      "revision_number",
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
      "ip_allocation",
      "description",
    ],
  },
  {
    collection: "subnetpools",
    singular: "subnetpool",
    path: "/v2.0/subnetpools",
    weight: 4,
    create: (source) => ({
      prefixes: prefixes(source),
      ...some(source, {
        ...common,
        default_prefixlen: [0.5, between(22, 28)],
        min_prefixlen: [0.2, between(8, 26)],
        max_prefixlen: [0.15, between(20, 32)],
        default_quota: [0.15, oneOf(256, 8, -1)],
        address_scope_id: [0.2, idOf("address_scopes")],
        shared: [0.1, bool],
        is_default: [0.03, bool],
      }),
    }),
    update: (source) =>
      some(source, {
        ...common,
        project_id: [0.02, project],
        default_prefixlen: [0.25, between(16, 30)],
        min_prefixlen: [0.2, between(8, 28)],
        prefixes: [0.15, prefixes],
        default_quota: [0.2, oneOf(null, 4, 512)],
        address_scope_id: [0.15, (from) => from.random.pick([null, idOf("address_scopes")(from)])],
        is_default: [0.05, bool],
      }),
    actions: {
      add_prefixes: (source) => ({ prefixes: prefixes(source) }),
      remove_prefixes: (source, { prefixes: own }) => ({
        prefixes: source.random.chance(0.6) && Array.isArray(own) ? own.slice(0, 1) : prefixes(source),
      }),
    },
    filters: ["name", "shared", "default_prefixlen", "ip_version", "address_scope_id", "is_default", "project_id"],
  },
  {
    collection: "address_scopes",
    singular: "address_scope",
    path: "/v2.0/address-scopes",
    weight: 2,
    create: (source) => ({
      ip_version: source.random.pick([4, 4, 6]),
      ...some(source, { name: common.name, project_id: common.project_id, shared: [0.15, bool] } as Choices),
    }),
    update: (source) => some(source, { name: [0.8, name], shared: [0.3, bool] }),
    filters: ["name", "ip_version", "shared"],
  },
  {
    collection: "address_groups",
    singular: "address_group",
    path: "/v2.0/address-groups",
    weight: 2.5,
    create: (source) =>
      some(source, {
        ...common,
        addresses: [
          0.8,
          oneOf<unknown>(
            ["10.50.0.0/24"],
            ["10.51.0.1/32", "fd00::/64"],
            ["bad"],
            ["10.50.0.0/24", "10.50.0.0/24"],
            [],
          ),
        ],
      }),
    update: (source) => some(source, { name: [0.8, name], description: [0.4, description] }),
    actions: {
      add_addresses: (source) => ({
        addresses: oneOf<unknown>(["10.52.0.0/24"], ["10.50.0.0/24"], ["bad"], [])(source),
      }),
      remove_addresses: (source) => ({ addresses: oneOf(["10.50.0.0/24"], ["10.59.0.0/24"])(source) }),
    },
    filters: ["name", "project_id"],
  },
  {
    collection: "routers",
    singular: "router",
    path: "/v2.0/routers",
    weight: 10,
    create: (source) =>
      some(source, {
        ...common,
        admin_state_up: [0.2, bool],
        external_gateway_info: [0.35, gateway],
        distributed: [0.04, bool],
        ha: [0.04, bool],
        availability_zone_hints: [0.04, oneOf(["nova"], ["mars"])],
        flavor_id: [0.02, idOf("flavors")],
      }),
    update: (source) =>
      some(source, {
        ...common,
        project_id: [0.02, project],
        admin_state_up: [0.2, bool],
        external_gateway_info: [0.25, gateway],
        routes: [0.25, routes],
        distributed: [0.03, bool],
        ha: [0.03, bool],
      }),
    actions: {
      add_router_interface: routerTarget,
      remove_router_interface: routerTarget,
      add_extraroutes: (source) => ({ router: { routes: routes(source) } }),
      remove_extraroutes: (source) => ({ router: { routes: routes(source) } }),
    },
    filters: ["name", "status", "admin_state_up", "project_id", "distributed", "ha", "flavor_id", "tags"],
  },
  {
    collection: "floatingips",
    singular: "floatingip",
    path: "/v2.0/floatingips",
    weight: 6,
    create: (source) => ({
      floating_network_id: source.random.chance(0.85) ? external(source) : idOf("networks")(source),
      ...some(source, {
        port_id: [0.35, idOf("ports")],
        fixed_ip_address: [0.08, addressOfPort],
        description: [0.2, description],
        project_id: [0.08, projectOfOthers],
        subnet_id: [0.05, idOf("subnets")],
        dns_name: [0.05, oneOf("a", "")],
        tags: [0.03, tags],
      }),
    }),
    update: (source) =>
      some(source, {
        port_id: [0.8, (from) => from.random.pick([null, idOf("ports")(from)])],
        fixed_ip_address: [0.1, addressOfPort],
        description: [0.3, description],
      }),
    filters: [
      "floating_network_id",
      "status",
      "port_id",
      "router_id",
      "project_id",
      "fixed_ip_address",
      "description",
      "tags",
    ],
  },
  {
    collection: "port_forwardings",
    singular: "port_forwarding",
    path: "/v2.0/floatingips/{parent}/port_forwardings",
    parent: "floatingips",
    weight: 4,
    create: (source) => some(source, forwarding),
    update: (source) =>
      some(source, { ...forwarding, protocol: [0.2, oneOf("tcp", "udp")], internal_port_id: [0.2, idOf("ports")] }),
    filters: ["protocol", "external_port", "internal_port_id", "id"],
  },
  {
    collection: "security_groups",
    singular: "security_group",
    path: "/v2.0/security-groups",
    weight: 5,
    create: (source) => some(source, { ...common, stateful: [0.2, bool], tags: [0.02, tags] }),
    update: (source) =>
      some(source, {
        name: [0.7, (from) => (from.random.chance(0.1) ? "default" : name(from))],
        description: [0.4, description],
        stateful: [0.2, bool],
      }),
    filters: ["name", "description", "project_id", "stateful", "shared", "tags", "id"],
  },
  {
    collection: "security_group_rules",
    singular: "security_group_rule",
    path: "/v2.0/security-group-rules",
    weight: 8,
    create: (source) => ({ security_group_id: idOf("security_groups")(source), ...some(source, rule) }),
    update: (source) => some(source, { description: [0.9, description] }),
    filters: [
      "direction",
      "ethertype",
      "protocol",
      "port_range_min",
      "remote_group_id",
      "security_group_id",
      "project_id",
      "description",
      "id",
    ],
  },
  {
    collection: "rbac_policies",
    singular: "rbac_policy",
    path: "/v2.0/rbac-policies",
    weight: 5,
    create: rbacPolicy,
    update: (source) => ({ target_tenant: rbacTarget(source) }),
    filters: ["object_type", "object_id", "action", "target_tenant", "project_id"],
  },
  {
    collection: "policies",
    singular: "policy",
    path: "/v2.0/qos/policies",
    weight: 3.5,
    create: (source) => some(source, { ...common, shared: [0.25, bool], is_default: [0.08, bool] }),
    update: (source) =>
      some(source, { ...common, project_id: [0.02, project], shared: [0.25, bool], is_default: [0.1, bool] }),
    filters: ["name", "description", "shared", "is_default", "project_id"],
  },
  policyRules("bandwidth_limit_rules", "bandwidth_limit_rule", bandwidth),
  policyRules("dscp_marking_rules", "dscp_marking_rule", { dscp_mark: [0.97, oneOf<unknown>(26, 0, 3, 56, "x")] }),
  policyRules("minimum_bandwidth_rules", "minimum_bandwidth_rule", minimum),
  policyRules("minimum_packet_rate_rules", "minimum_packet_rate_rule", packets),
  policyRules("packet_rate_limit_rules", "packet_rate_limit_rule", {
    max_kpps: [0.95, oneOf(100, 0)],
    max_burst_kpps: [0.3, oneOf(10, 0)],
    direction: [0.6, oneOf("egress", "ingress")],
  }),
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
    create: (source) => ({
      network_id: idOf("networks")(source),
      network_type: oneOf("vlan", "vxlan", "flat", "bogus")(source),
      ...some(source, {
        physical_network: [0.6, oneOf("physnet1", "nophys")],
        segmentation_id: [0.8, between(150, 199)],
        name: [0.6, name],
        description: [0.2, description],
      }),
    }),
    update: (source) => some(source, { name: [0.8, name], description: [0.4, description] }),
    filters: ["network_id", "network_type", "physical_network", "name"],
  },
  {
    collection: "metering_labels",
    singular: "metering_label",
    path: "/v2.0/metering/metering-labels",
    weight: 1.5,
    create: (source) => some(source, { ...common, shared: [0.2, bool] }),
    update: (source) => some(source, { name: [0.9, name] }),
    filters: ["name", "description", "shared", "project_id"],
  },
  {
    collection: "metering_label_rules",
    singular: "metering_label_rule",
    path: "/v2.0/metering/metering-label-rules",
    weight: 2,
    create: (source) => ({
      metering_label_id: idOf("metering_labels")(source),
      ...some(source, {
        direction: [0.9, oneOf("ingress", "egress", "bogus")],
        remote_ip_prefix: [0.6, oneOf("10.20.0.0/24", "10.20.0.0/25", "0.0.0.0/0", "bad")],
        source_ip_prefix: [0.15, oneOf("10.1.0.0/24")],
        destination_ip_prefix: [0.15, oneOf("10.2.0.0/24")],
        excluded: [0.2, bool],
      }),
    }),
    filters: ["direction", "metering_label_id", "remote_ip_prefix", "excluded"],
  },
  {
    collection: "flavors",
    singular: "flavor",
    path: "/v2.0/flavors",
    weight: 1.5,
    create: (source) =>
      some(source, {
        name: [0.9, name],
        description: [0.3, description],
        service_type: [0.95, oneOf("L3_ROUTER_NAT", "L3_ROUTER_NAT", "bogus")],
        enabled: [0.2, bool],
      }),
    update: (source) => some(source, { name: [0.8, name], description: [0.4, description], enabled: [0.3, bool] }),
    filters: ["name", "service_type", "enabled"],
  },
  {
    collection: "service_profiles",
    singular: "service_profile",
    path: "/v2.0/service_profiles",
    weight: 1.5,
    create: (source) =>
      some(source, {
        description: [0.8, description],
        metainfo: [0.8, oneOf("{}", "")],
        driver: [0.2, oneOf("", "bogus.driver")],
        enabled: [0.2, bool],
      }),
    update: (source) => some(source, { description: [0.8, description], enabled: [0.3, bool] }),
    filters: ["description", "driver", "enabled"],
  },
  {
    collection: "service_profiles",
    singular: "service_profile",
    path: "/v2.0/flavors/{parent}/service_profiles",
    parent: "flavors",
    weight: 0.8,
    create: (source) => ({ id: idOf("service_profiles")(source) }),
  },
  {
    collection: "logs",
    singular: "log",
    path: "/v2.0/log/logs",
    weight: 1.5,
    create: (source) => ({
      resource_type: source.random.chance(0.9) ? "security_group" : "bogus",
      ...some(source, {
        ...common,
        event: [0.4, oneOf("ALL", "DROP", "ACCEPT", "bogus")],
        enabled: [0.2, bool],
        resource_id: [0.4, idOf("security_groups")],
        target_id: [0.3, idOf("ports")],
      }),
    }),
    update: (source) => some(source, { name: [0.8, name], enabled: [0.3, bool] }),
    filters: ["name", "event", "enabled", "resource_type"],
  },
  {
    collection: "local_ips",
    singular: "local_ip",
    path: "/v2.0/local-ips",
    weight: 1,
    create: (source) =>
      some(source, {
        ...common,
        network_id: [0.6, idOf("networks")],
        local_port_id: [0.4, idOf("ports")],
        ip_mode: [0.3, oneOf("translate", "passthrough", "x")],
      }),
    update: (source) => some(source, { name: [0.8, name] }),
    filters: ["name", "network_id"],
  },
  {
    collection: "conntrack_helpers",
    singular: "conntrack_helper",
    path: "/v2.0/routers/{parent}/conntrack_helpers",
    parent: "routers",
    weight: 1,
    create: (source) =>
      some(source, {
        protocol: [0.95, oneOf("tcp", "udp", "icmp")],
        port: [0.95, between(20, 24)],
        helper: [0.95, oneOf("tftp", "ftp", "bogus")],
      }),
    update: (source) => some(source, { port: [0.8, between(20, 24)] }),
    filters: ["protocol", "port", "helper"],
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
  {
    collection: "agents",
    singular: "agent",
    path: "/v2.0/agents",
    weight: 0.8,
    filters: ["agent_type", "host", "binary", "alive"],
  },
  {
    collection: "availability_zones",
    singular: "availability_zone",
    path: "/v2.0/availability_zones",
    weight: 0.3,
    filters: ["name", "resource", "state"],
  },
  {
    collection: "network_ip_availabilities",
    singular: "network_ip_availability",
    path: "/v2.0/network-ip-availabilities",
    weight: 0.8,
    filters: ["network_id", "network_name", "ip_version"],
  },
  { collection: "rule_types", singular: "rule_type", path: "/v2.0/qos/rule-types", weight: 0.3 },
  { collection: "floatingip_pools", singular: "floatingip_pool", path: "/v2.0/floatingip-pools", weight: 0.3 },
  { collection: "service_providers", singular: "service_provider", path: "/v2.0/service-providers", weight: 0.2 },
  {
    collection: "loggable_resources",
    singular: "loggable_resource",
    path: "/v2.0/log/loggable-resources",
    weight: 0.2,
  },
];
