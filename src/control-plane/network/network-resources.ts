import { ADDRESS_GROUP_BEHAVIOUR } from "./address-groups.js";
import { AGENT_BEHAVIOUR } from "./agents/agents.js";
import { type RegisteredResource, register } from "./engine/network-context.js";
import {
  FLAVOR_BEHAVIOUR,
  FLAVOR_SERVICE_PROFILE_BEHAVIOUR,
  NEXT_PROVIDER_BEHAVIOUR,
  SERVICE_PROFILE_BEHAVIOUR,
} from "./flavors.js";
import { ADDRESS_SCOPE_BEHAVIOUR } from "./ipam/address-scopes.js";
import { AVAILABILITY_BEHAVIOUR } from "./ipam/availability.js";
import { SERVICE_PROVIDER_BEHAVIOUR } from "./ipam/service-providers.js";
import { SUBNET_POOL_BEHAVIOUR } from "./ipam/subnet-pools.js";
import { SUBNET_BEHAVIOUR } from "./ipam/subnets.js";
import { NETWORK_BEHAVIOUR } from "./l2/networks.js";
import { SEGMENT_RANGE_BEHAVIOUR } from "./l2/segment-ranges.js";
import { SEGMENT_BEHAVIOUR } from "./l2/segments.js";
import { CONNTRACK_HELPER_BEHAVIOUR } from "./l3/conntrack-helpers.js";
import { FLOATING_IP_BEHAVIOUR, FLOATING_IP_POOL_BEHAVIOUR } from "./l3/floating-ips.js";
import { LOCAL_IP_BEHAVIOUR, PORT_ASSOCIATION_BEHAVIOUR } from "./l3/local-ips.js";
import { NDP_PROXY_BEHAVIOUR } from "./l3/ndp-proxies.js";
import { PORT_FORWARDING_BEHAVIOUR } from "./l3/port-forwardings.js";
import { ROUTER_BEHAVIOUR } from "./l3/routers.js";
import { LOG_BEHAVIOUR } from "./logs.js";
import { METERING_LABEL_BEHAVIOUR, METERING_LABEL_RULE_BEHAVIOUR } from "./metering.js";
import { PORT_BEHAVIOUR } from "./ports/port-behaviour.js";
import { PORT_BINDINGS_BEHAVIOUR } from "./ports/port-bindings-behaviour.js";
import { QOS_POLICY_BEHAVIOUR } from "./qos/policies.js";
import { RULE_TYPE_BEHAVIOUR } from "./qos/rule-types.js";
import { createRuleBehaviour } from "./qos/rules.js";
import { ADDRESS_GROUPS } from "./resources/address-groups.js";
import { AGENTS, AVAILABILITY_ZONES } from "./resources/agents.js";
import { FLAVOR_SERVICE_PROFILES, FLAVORS, NEXT_PROVIDERS, SERVICE_PROFILES } from "./resources/flavors.js";
import { FLOATINGIP_POOLS, FLOATINGIPS, PORT_FORWARDINGS } from "./resources/floating-ips.js";
import { LOCAL_IPS, PORT_ASSOCIATIONS } from "./resources/local-ips.js";
import { LOGGABLE_RESOURCES, LOGS } from "./resources/logs.js";
import { METERING_LABEL_RULES, METERING_LABELS } from "./resources/metering.js";
import { NDP_PROXIES } from "./resources/ndp-proxies.js";
import { NETWORKS } from "./resources/networks.js";
import { PORT_BINDINGS, PORTS } from "./resources/ports.js";
import { QOS_POLICIES, RULE_TYPES } from "./resources/qos-policies.js";
import {
  ALIAS_BANDWIDTH_LIMIT_RULES,
  ALIAS_DSCP_MARKING_RULES,
  ALIAS_MINIMUM_BANDWIDTH_RULES,
  ALIAS_MINIMUM_PACKET_RATE_RULES,
  BANDWIDTH_LIMIT_RULES,
  DSCP_MARKING_RULES,
  MINIMUM_BANDWIDTH_RULES,
  MINIMUM_PACKET_RATE_RULES,
  PACKET_RATE_LIMIT_RULES,
} from "./resources/qos-rules.js";
import { RBAC_POLICIES } from "./resources/rbac-policies.js";
import { AUTO_ALLOCATED_TOPOLOGIES, NETWORK_IP_AVAILABILITIES, SERVICE_PROVIDERS } from "./resources/read-only.js";
import { CONNTRACK_HELPERS, ROUTERS } from "./resources/routers.js";
import { DEFAULT_SECURITY_GROUP_RULES, SECURITY_GROUP_RULES, SECURITY_GROUPS } from "./resources/security-groups.js";
import { NETWORK_SEGMENT_RANGES, SEGMENTS } from "./resources/segments.js";
import { ADDRESS_SCOPES, SUBNETPOOLS } from "./resources/subnet-pools.js";
import { SUBNETS } from "./resources/subnets.js";
import { TRUNKS } from "./resources/trunks.js";
import { DEFAULT_SECURITY_GROUP_RULE_BEHAVIOUR } from "./security-groups/default-rule-behaviour.js";
import { SECURITY_GROUP_BEHAVIOUR } from "./security-groups/group-behaviour.js";
import { SECURITY_GROUP_RULE_BEHAVIOUR } from "./security-groups/rule-behaviour.js";
import { RBAC_BEHAVIOUR } from "./sharing/rbac-policies.js";
import { TRUNK_BEHAVIOUR } from "./trunk/trunks.js";

/** All resources of the service, with their behaviour. */
export const NETWORK_RESOURCES: readonly RegisteredResource[] = [
  register(ADDRESS_GROUPS, ADDRESS_GROUP_BEHAVIOUR),
  register(AGENTS, AGENT_BEHAVIOUR),
  register(AVAILABILITY_ZONES),
  register(FLAVORS, FLAVOR_BEHAVIOUR),
  register(FLAVOR_SERVICE_PROFILES, FLAVOR_SERVICE_PROFILE_BEHAVIOUR),
  register(SERVICE_PROFILES, SERVICE_PROFILE_BEHAVIOUR),
  register(NEXT_PROVIDERS, NEXT_PROVIDER_BEHAVIOUR),
  register(FLOATINGIPS, FLOATING_IP_BEHAVIOUR),
  register(FLOATINGIP_POOLS, FLOATING_IP_POOL_BEHAVIOUR),
  register(PORT_FORWARDINGS, PORT_FORWARDING_BEHAVIOUR),
  register(LOCAL_IPS, LOCAL_IP_BEHAVIOUR),
  register(PORT_ASSOCIATIONS, PORT_ASSOCIATION_BEHAVIOUR),
  register(LOGS, LOG_BEHAVIOUR),
  register(LOGGABLE_RESOURCES),
  register(METERING_LABELS, METERING_LABEL_BEHAVIOUR),
  register(METERING_LABEL_RULES, METERING_LABEL_RULE_BEHAVIOUR),
  register(NDP_PROXIES, NDP_PROXY_BEHAVIOUR),
  register(NETWORKS, NETWORK_BEHAVIOUR),
  register(PORTS, PORT_BEHAVIOUR),
  register(PORT_BINDINGS, PORT_BINDINGS_BEHAVIOUR),
  register(QOS_POLICIES, QOS_POLICY_BEHAVIOUR),
  register(RULE_TYPES, RULE_TYPE_BEHAVIOUR),
  register(BANDWIDTH_LIMIT_RULES, createRuleBehaviour("bandwidth_limit")),
  register(DSCP_MARKING_RULES, createRuleBehaviour("dscp_marking")),
  register(MINIMUM_BANDWIDTH_RULES, createRuleBehaviour("minimum_bandwidth")),
  register(MINIMUM_PACKET_RATE_RULES, createRuleBehaviour("minimum_packet_rate")),
  register(PACKET_RATE_LIMIT_RULES, createRuleBehaviour("packet_rate_limit")),
  register(ALIAS_BANDWIDTH_LIMIT_RULES, createRuleBehaviour("bandwidth_limit")),
  register(ALIAS_DSCP_MARKING_RULES, createRuleBehaviour("dscp_marking")),
  register(ALIAS_MINIMUM_BANDWIDTH_RULES, createRuleBehaviour("minimum_bandwidth")),
  register(ALIAS_MINIMUM_PACKET_RATE_RULES, createRuleBehaviour("minimum_packet_rate")),
  register(RBAC_POLICIES, RBAC_BEHAVIOUR),
  register(NETWORK_IP_AVAILABILITIES, AVAILABILITY_BEHAVIOUR),
  register(SERVICE_PROVIDERS, SERVICE_PROVIDER_BEHAVIOUR),
  register(AUTO_ALLOCATED_TOPOLOGIES),
  register(ROUTERS, ROUTER_BEHAVIOUR),
  register(CONNTRACK_HELPERS, CONNTRACK_HELPER_BEHAVIOUR),
  register(SECURITY_GROUPS, SECURITY_GROUP_BEHAVIOUR),
  register(SECURITY_GROUP_RULES, SECURITY_GROUP_RULE_BEHAVIOUR),
  register(DEFAULT_SECURITY_GROUP_RULES, DEFAULT_SECURITY_GROUP_RULE_BEHAVIOUR),
  register(SEGMENTS, SEGMENT_BEHAVIOUR),
  register(NETWORK_SEGMENT_RANGES, SEGMENT_RANGE_BEHAVIOUR),
  register(SUBNETPOOLS, SUBNET_POOL_BEHAVIOUR),
  register(ADDRESS_SCOPES, ADDRESS_SCOPE_BEHAVIOUR),
  register(SUBNETS, SUBNET_BEHAVIOUR),
  register(TRUNKS, TRUNK_BEHAVIOUR),
];
