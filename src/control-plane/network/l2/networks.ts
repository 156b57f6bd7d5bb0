import { and, EVERY, where } from "../../resources/condition.js";
import { assertZonesExist } from "../agents/availability-zones.js";
import type { Behaviour, NetworkContext } from "../engine/network-context.js";
import { invalidOperation, networkError } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { createRecord, deleteRecord, findRecord, storedAttributes } from "../engine/records.js";
import { planNetworkUpdate } from "../ports/policy-changes.js";
import { assertMayReplacePolicy } from "../qos/policy-access.js";
import { assertNetworkSupportsPolicy } from "../qos/rule-support.js";
import { FLOATINGIPS } from "../resources/floating-ips.js";
import { NETWORKS } from "../resources/networks.js";
import { PORTS } from "../resources/ports.js";
import { QOS_POLICIES } from "../resources/qos-policies.js";
import { RBAC_POLICIES } from "../resources/rbac-policies.js";
import { SUBNETS } from "../resources/subnets.js";
import { ensureDefaultGroup } from "../security-groups/default-group.js";
import { createSegments, segmentsOf, updateProviderAttributes } from "./network-segments.js";
import { computeNetworks, segmentFilter } from "./network-views.js";
import { maxMtuOf, type SegmentSpec } from "./type-drivers.js";

type Network = NetworkRecord<typeof NETWORKS>;
type Input = NetworkInput<typeof NETWORKS>;

export const NETWORK_BEHAVIOUR: Behaviour<typeof NETWORKS.attributes> = {
  prepareCreate: (context, input) => {
    if (input.project_id) {
      ensureDefaultGroup(context, input.project_id);
    }
    return {
      status: "ACTIVE",
      is_default: input.is_default === true && input["router:external"] === true,
      availability_zone_hints: [...(input.availability_zone_hints ?? [])].sort(),
      revision_number: 1,
    };
  },
  afterCreate,
  prepareUpdate,
  afterUpdate,
  external: { attribute: "qos_policy_id", plan: planNetworkUpdate },
  beforeDelete,
  compute: computeNetworks,
  computeRequested: ({ is_default }) => (is_default === undefined ? {} : { is_default }),
  filters: {
    // Neutron accepts the filter, and all networks match.
    is_default: () => EVERY,
    "provider:network_type": segmentFilter("network_type"),
    "provider:physical_network": segmentFilter("physical_network"),
    "provider:segmentation_id": segmentFilter("segmentation_id"),
  },
};

function afterCreate(context: NetworkContext, network: Network, input: Input): void {
  const { id } = network;
  const segments = createSegments(context, network, input);
  const mtu = chooseMtu(context, segments, input.mtu);
  const hints = network.availability_zone_hints;
  const policy = qosPolicyOf(context, network);
  assertOneDefault(context, network, input);
  assertZonesExist(context, "network", hints);
  if (policy !== null) {
    assertNetworkSupportsPolicy(context, policy, id);
  }
  context.table(NETWORKS).update(id, {
    mtu,
    qos_policy_id: policy,
    availability_zone_hints: hints.length > 0 ? hints : [context.services.options.availabilityZone],
  });
  if (network["router:external"]) {
    createExternalPolicy(context, network);
  }
}

/** Returns the requested MTU; without one the greatest. @throws {HttpError} 400 for one that the segments forbid */
function chooseMtu(context: NetworkContext, segments: readonly SegmentSpec[], requested: number | undefined): number {
  const max = maxMtuOf(context, segments);
  if (requested !== undefined && requested > max) {
    throw invalidOperation(`Requested MTU is too big, maximum is ${max}`);
  }
  return requested || max;
}

/** Returns the requested policy; without one the default policy of the project. @throws {HttpError} 404 */
function qosPolicyOf(context: NetworkContext, { qos_policy_id: requested, project_id: project }: Network) {
  if (requested !== null) {
    return findRecord(context, QOS_POLICIES, requested).id;
  }
  return context.table(QOS_POLICIES).first(where`project_id = ${project} AND is_default = 1`)?.id ?? null;
}

function createExternalPolicy(context: NetworkContext, { id, project_id }: Network): void {
  createRecord(context.internal, RBAC_POLICIES, {
    project_id,
    object_type: "network",
    object_id: id,
    action: "access_as_external",
    target_tenant: "*",
  });
}

/** @throws {HttpError} 409 if another external network is the default one */
function assertOneDefault(context: NetworkContext, network: Network, { is_default: isDefault = false }: Input): void {
  if (!isDefault) {
    return;
  }
  const others = where`is_default = 1 AND router_external = 1 AND id IS NOT ${network.id}`;
  const other = context.table(NETWORKS).first(others);
  if (other !== undefined) {
    throw networkError(409, "DefaultExternalNetworkExists", `A default external network already exists: ${other.id}.`);
  }
}

function prepareUpdate(context: NetworkContext, network: Network, changes: Input): Partial<Network> {
  updateProviderAttributes(context, network, changes);
  const sharedWithAll = where`object_id = ${network.id} AND action = ${"access_as_shared"} AND target_tenant = ${"*"}`;
  if (changes.shared === false && context.table(RBAC_POLICIES).has(sharedWithAll)) {
    assertNotSharedByOthers(context, network);
  }
  if (changes["router:external"] === false && network["router:external"]) {
    assertNoGateways(context, network);
  }
  if (changes.qos_policy_id !== undefined) {
    assertMayReplacePolicy(context, network.qos_policy_id);
  }
  if (typeof changes.qos_policy_id === "string") {
    findRecord(context, QOS_POLICIES, changes.qos_policy_id);
    assertNetworkSupportsPolicy(context, changes.qos_policy_id, network.id);
  }
  const { mtu, is_default = network.is_default, "router:external": isExternal = network["router:external"] } = changes;
  return {
    ...storedAttributes(NETWORKS, changes),
    is_default: is_default && isExternal,
    ...(mtu !== undefined && {
      mtu: chooseMtu(context, segmentsOf(context, [network.id]).get(network.id) ?? [], mtu),
    }),
  };
}

function afterUpdate(context: NetworkContext, network: Network, changes: Input, before: Network): void {
  assertOneDefault(context, network, changes);
  if (network["router:external"] === before["router:external"]) {
    return;
  }
  const policies = where`object_id = ${network.id} AND action = ${"access_as_external"}`;
  if (!network["router:external"]) {
    for (const id of context.table(RBAC_POLICIES).ids(policies)) {
      context.table(RBAC_POLICIES).delete(id);
    }
  } else if (!context.table(RBAC_POLICIES).has(policies)) {
    createExternalPolicy(context, network);
  }
}

/** Owners of ports that belong to Neutron itself, but not to a router. */
const NETWORK_OWNERS = "network:*";

/** @throws {HttpError} 409 if projects without a policy of their own have ports or subnets on the network */
function assertNotSharedByOthers(context: NetworkContext, { id, name, project_id: owner }: Network): void {
  const [user] =
    context.sql.get(
      `SELECT project_id FROM (
        SELECT project_id FROM ${PORTS.table} WHERE network_id = ?1 AND device_owner NOT GLOB ?2
        UNION SELECT project_id FROM ${SUBNETS.table} WHERE network_id = ?1
      ) WHERE project_id IS NOT ?3 AND project_id NOT IN (
        SELECT target_tenant FROM ${RBAC_POLICIES.table} WHERE object_id = ?1 AND action = 'access_as_shared'
      ) LIMIT 1`,
      id,
      NETWORK_OWNERS,
      owner,
    ) ?? [];
  if (user !== undefined) {
    throw networkError(
      409,
      "InvalidSharedSetting",
      `Unable to reconfigure sharing settings for network ${name}. Multiple tenants are using it.`,
    );
  }
}

/** @throws {HttpError} 409 if routers have their gateway on the network */
function assertNoGateways(context: NetworkContext, { id }: Network): void {
  if (context.table(PORTS).has(where`network_id = ${id} AND device_owner = ${"network:router_gateway"}`)) {
    throw networkError(
      409,
      "ExternalNetworkInUse",
      `External network ${id} cannot be updated to be made non-external, since it has existing gateway ports.`,
    );
  }
}

/** Owners of ports that go with their network. */
const DELETED_WITH_NETWORK = JSON.stringify([
  "network:dhcp",
  "network:distributed",
  "network:floatingip_agent_gateway",
]);

function beforeDelete(context: NetworkContext, { id }: Network): void {
  const { internal } = context;
  const unused = where`floating_network_id = ${id} AND port_id IS NULL`;
  for (const floatingIp of context.table(FLOATINGIPS).ids(unused)) {
    deleteRecord(internal, FLOATINGIPS, floatingIp);
  }
  const ports = where`network_id = ${id}`;
  const isDeleted = where`device_owner IN (SELECT value FROM json_each(${DELETED_WITH_NETWORK}))`;
  const used = context.table(PORTS).ids(and(ports, { sql: `NOT ${isDeleted.sql}`, values: isDeleted.values }));
  if (used.length > 0) {
    throw networkError(
      409,
      "NetworkInUse",
      `Unable to complete operation on network ${id}. There are one or more ports still in use on the network, id for ` +
        `these ports is: ${used.join(",")}.`,
    );
  }
  for (const port of context.table(PORTS).ids(ports)) {
    deleteRecord(internal, PORTS, port);
  }
  for (const subnet of context.table(SUBNETS).ids(where`network_id = ${id}`)) {
    deleteRecord(internal, SUBNETS, subnet);
  }
}
