import type { Members } from "../differential/known-records.js";
import {
  addressOfPort,
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
  projectOfOthers,
  type Subject,
  some,
} from "./subject.js";

function gateway(source: BodySource) {
  return source.random.pick<unknown>([
    null,
    {},
    { network_id: external(source) },
    { network_id: external(source) },
    { network_id: external(source), enable_snat: false },
    { network_id: idOf("networks")(source) },
  ]);
}
function external({ records }: BodySource): string {
  return records.of("networks").find(({ attributes }) => attributes["router:external"] === true)?.id ?? "none";
}
function routes(source: BodySource) {
  return source.random.pick<unknown>([
    [],
    [{ destination: "10.240.0.0/16", nexthop: freeAddress(source, idOf("subnets")(source)) }],
    [{ destination: "x", nexthop: "10.0.0.1" }],
  ]);
}
function routerTarget(source: BodySource): Members {
  return source.random.pick<Members>([
    { subnet_id: idOf("subnets")(source) },
    { subnet_id: idOf("subnets")(source) },
    { port_id: idOf("ports")(source) },
    {},
  ]);
}
const forwarding: Choices = {
  protocol: [0.97, oneOf("tcp", "udp", "icmp", "bogus")],
  external_port: [0.9, between(2000, 2005)],
  internal_port: [0.9, between(20, 24)],
  internal_port_id: [0.97, idOf("ports")],
  internal_ip_address: [0.6, addressOfPort],
  description: [0.2, description],
};

export const LAYER3_SUBJECTS: readonly Subject[] = [
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
        ha: [0.04, oneOf(false)],
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
        ha: [0.03, oneOf(false)],
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
  { collection: "floatingip_pools", singular: "floatingip_pool", path: "/v2.0/floatingip-pools", weight: 0.3 },
];
