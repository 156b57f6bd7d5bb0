import { bool, common, description, idOf, name, oneOf, type Subject, some } from "./subject.js";

export const SERVICE_SUBJECTS: readonly Subject[] = [
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
  { collection: "service_providers", singular: "service_provider", path: "/v2.0/service-providers", weight: 0.2 },
];
