import { ID, OWNER, textOrNull } from "../engine/attribute-types.js";
import { defineResource } from "../engine/network-resource.js";

/** TODO describe. */
export const NETWORK_IP_AVAILABILITIES = defineResource({
  collection: "network_ip_availabilities",
  singular: "network_ip_availability",
  path: "/v2.0/network-ip-availabilities",
  extension: "network-ip-availability",
  table: "network_network_ip_availabilities",
  attributes: {
    network_id: { type: textOrNull, filter: true, sort: true },
    network_name: { type: textOrNull, filter: true },
    subnet_ip_availability: { type: textOrNull },
    used_ips: { type: textOrNull },
    total_ips: { type: textOrNull },
    ip_version: { type: textOrNull, filter: true, visible: false },
    ...OWNER,
  },
  notFound: { type: "NetworkIpAvailabilityNotFound" }, // not in errors.json: check
});

/** TODO describe. */
export const SERVICE_PROVIDERS = defineResource({
  collection: "service_providers",
  singular: "service_provider",
  path: "/v2.0/service-providers",
  extension: "service-type",
  table: "network_service_providers",
  attributes: {
    service_type: { type: textOrNull },
    name: { type: textOrNull },
    default: { type: textOrNull },
  },
  notFound: { type: "ServiceProviderNotFound" },
});

/** TODO describe. */
export const AUTO_ALLOCATED_TOPOLOGIES = defineResource({
  collection: "auto_allocated_topologies",
  singular: "auto_allocated_topology",
  path: "/v2.0/auto-allocated-topologies",
  extension: "auto-allocated-topology",
  table: "network_auto_allocated_topologies",
  attributes: {
    ...ID,
    ...OWNER,
  },
  notFound: { type: "AutoAllocatedTopologyNotFound" }, // not in errors.json: check
});
