import { isOneOf } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { MINIMUM_BANDWIDTH_RULES, MINIMUM_PACKET_RATE_RULES } from "../resources/qos-rules.js";
import { SEGMENTS } from "../resources/segments.js";

/** A port, as far as its request depends on it. */
export interface RequestingPort {
  readonly id: string;
  readonly networkId: string;
  /** Its own policy, or that of its network. */
  readonly policyId: string | null;
  readonly vnicType: string;
}

/** A group of resources, as the extension `port-resource-request-groups` has it. */
export interface RequestGroup {
  readonly [key: string]: string | readonly string[] | Readonly<Record<string, number>>;
  readonly id: string;
  readonly required: readonly string[];
  readonly resources: Readonly<Record<string, number>>;
}

export interface ResourceRequest {
  readonly [key: string]: readonly RequestGroup[] | readonly string[];
  readonly request_groups: readonly RequestGroup[];
  readonly same_subtree: readonly string[];
}

interface Rule {
  readonly id: string;
  readonly policyId: string;
  readonly resourceClass: string;
  readonly amount: number;
}

const BANDWIDTH_CLASSES: Readonly<Record<string, string>> = {
  ingress: "NET_BW_IGR_KILOBIT_PER_SEC",
  egress: "NET_BW_EGR_KILOBIT_PER_SEC",
};

const PACKET_RATE_CLASSES: Readonly<Record<string, string>> = {
  ingress: "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC",
  egress: "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC",
  any: "NET_PACKET_RATE_KILOPACKET_PER_SEC",
};

/** Returns what ports request of their hosts, by their ids; ports that request nothing are absent. */
export function resourceRequestsOf(
  context: NetworkContext,
  ports: readonly RequestingPort[],
): ReadonlyMap<string, ResourceRequest> {
  const requesting = ports.filter(({ policyId }) => policyId !== null);
  if (requesting.length === 0) {
    return new Map();
  }
  const policies = [...new Set(requesting.map(({ policyId }) => policyId))];
  const bandwidth = bandwidthRules(context, policies);
  const packetRates = packetRateRules(context, policies);
  if (bandwidth.length === 0 && packetRates.length === 0) {
    return new Map();
  }
  const physicalNetworks = physicalNetworksOf(context, [...new Set(requesting.map(({ networkId }) => networkId))]);
  const requests = new Map<string, ResourceRequest>();
  for (const port of requesting) {
    const physicalNetwork = physicalNetworks.get(port.networkId) ?? null;
    const vnicTrait = toTrait("VNIC_TYPE", port.vnicType);
    const groups = [
      ...(physicalNetwork === null ? [] : groupOf(port, bandwidth, [toTrait("PHYSNET", physicalNetwork), vnicTrait])),
      ...groupOf(port, packetRates, [vnicTrait]),
    ];
    if (groups.length > 0) {
      requests.set(port.id, { request_groups: groups, same_subtree: groups.map(({ id }) => id) });
    }
  }
  return requests;
}

function groupOf(
  { id, policyId }: RequestingPort,
  rules: readonly Rule[],
  required: readonly string[],
): readonly RequestGroup[] {
  const own = rules.filter((rule) => rule.policyId === policyId);
  if (own.length === 0) {
    return [];
  }
  const ruleIds = own.map((rule) => rule.id);
  const resources = Object.fromEntries(own.map(({ resourceClass, amount }) => [resourceClass, amount]));
  return [{ id: combineIds([id, ...ruleIds]), required, resources }];
}

function bandwidthRules(context: NetworkContext, policies: readonly (string | null)[]): readonly Rule[] {
  return context
    .table(MINIMUM_BANDWIDTH_RULES)
    .find(isOneOf("policy_id", policies))
    .map(({ id, policy_id: policyId, direction, min_kbps: amount }) => ({
      id,
      policyId,
      resourceClass: BANDWIDTH_CLASSES[direction] ?? "",
      amount,
    }));
}

function packetRateRules(context: NetworkContext, policies: readonly (string | null)[]): readonly Rule[] {
  return context
    .table(MINIMUM_PACKET_RATE_RULES)
    .find(isOneOf("policy_id", policies))
    .map(({ id, policy_id: policyId, direction, min_kpps: amount }) => ({
      id,
      policyId,
      resourceClass: PACKET_RATE_CLASSES[direction] ?? "",
      amount,
    }));
}

/** Returns the physical networks of the first segments of networks. */
function physicalNetworksOf(
  context: NetworkContext,
  networkIds: readonly string[],
): ReadonlyMap<string, string | null> {
  const segments = context
    .table(SEGMENTS)
    .find(isOneOf("network_id", networkIds), "ORDER BY segment_index DESC, network_segments.rowid DESC");
  return new Map(segments.map(({ network_id: id, physical_network: name }) => [id, name]));
}

function toTrait(kind: string, name: string): string {
  return `CUSTOM_${kind}_${name}`.toUpperCase().replace(/[^A-Z0-9_]+/g, "_");
}

/**
 * Returns an id that depends on these only, so that it is the same at each read. Neutron derives it by a digest; no client
 * does so itself.
 */
function combineIds(ids: readonly string[]): string {
  const combined = ids.reduce((bits, id) => bits ^ BigInt(`0x${id.replaceAll("-", "")}`), 0n);
  const digits = combined.toString(16).padStart(32, "0");
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  return [
    digits.slice(0, 8),
    digits.slice(8, 12),
    `5${digits.slice(13, 16)}`,
    `${variant}${digits.slice(17, 20)}`,
    digits.slice(20),
  ].join("-");
}
