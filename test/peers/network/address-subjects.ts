import {
  between,
  bool,
  type Choices,
  common,
  description,
  idOf,
  name,
  oneOf,
  prefixes,
  project,
  type Subject,
  some,
} from "./subject.js";

export const ADDRESS_SUBJECTS: readonly Subject[] = [
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
    collection: "network_ip_availabilities",
    singular: "network_ip_availability",
    path: "/v2.0/network-ip-availabilities",
    weight: 0.8,
    filters: ["network_id", "network_name", "ip_version"],
  },
];
