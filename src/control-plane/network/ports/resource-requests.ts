import { isOneOf } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { type MinimumRule, minimumRulesOf } from "../qos/minimum-rules.js";
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
interface RequestGroup {
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
  const policies = new Set(ports.flatMap(({ policyId }) => policyId ?? []));
  const rules = policies.size === 0 ? new Map() : minimumRulesOf(context, policies);
  const requesting = ports.filter(({ policyId }) => rules.has(policyId ?? ""));
  if (requesting.length === 0) {
    return new Map();
  }
  const physicalNetworks = physicalNetworksOf(context, [...new Set(requesting.map(({ networkId }) => networkId))]);
  const requests = new Map<string, ResourceRequest>();
  for (const port of requesting) {
    const groups = groupsOf(port, rules.get(port.policyId ?? "") ?? [], physicalNetworks.get(port.networkId) ?? null);
    if (groups.length > 0) {
      requests.set(port.id, { request_groups: groups, same_subtree: groups.map(({ id }) => id) });
    }
  }
  return requests;
}

/** Bandwidth is requested of a physical network only. */
function groupsOf(
  { id, vnicType }: RequestingPort,
  rules: readonly MinimumRule[],
  physicalNetwork: string | null,
): readonly RequestGroup[] {
  const vnicTrait = toTrait("VNIC_TYPE", vnicType);
  const bandwidth = rules.filter(({ type }) => type === "minimum_bandwidth");
  const packetRates = rules.filter(({ type }) => type === "minimum_packet_rate");
  return [
    ...(physicalNetwork === null ? [] : groupOf(id, bandwidth, [toTrait("PHYSNET", physicalNetwork), vnicTrait])),
    ...groupOf(id, packetRates, [vnicTrait]),
  ];
}

function groupOf(portId: string, rules: readonly MinimumRule[], required: readonly string[]): readonly RequestGroup[] {
  if (rules.length === 0) {
    return [];
  }
  const resources = Object.fromEntries(rules.map((rule) => [resourceClassOf(rule), rule.rate]));
  return [{ id: groupIdOf(portId, rules), required, resources }];
}

/** Returns the id of the group that a port requests for rules of one type. */
export function groupIdOf(portId: string, rules: readonly Pick<MinimumRule, "id">[]): string {
  return combineIds([portId, ...rules.map(({ id }) => id)]);
}

/** Returns the resource class of a rule. */
export function resourceClassOf({ type, direction }: MinimumRule): string {
  return (type === "minimum_bandwidth" ? BANDWIDTH_CLASSES : PACKET_RATE_CLASSES)[direction] ?? "";
}

/** Returns the QoS policy of a network. */
export function policyOfNetwork({ sql }: NetworkContext, networkId: string): string | null {
  const [policy] = sql.get("SELECT qos_policy_id FROM network_networks WHERE id = ?", networkId) ?? [];
  return typeof policy === "string" ? policy : null;
}

/** Returns the ports with a QoS policy that a server has, and those with these ids. */
export function requestingPorts(
  { sql }: NetworkContext,
  serverUuid: string | null,
  portIds: readonly string[],
): readonly RequestingPort[] {
  return sql
    .all(
      `SELECT port.id, port.network_id, coalesce(port.qos_policy_id, network.qos_policy_id) AS policy,
        coalesce(vnic_type, 'normal')
        FROM network_ports AS port
        JOIN network_networks AS network ON network.id = port.network_id
        LEFT JOIN network_port_bindings AS binding ON binding.port_id = port.id AND binding.status = 'ACTIVE'
        WHERE (port.device_id = ? OR port.id IN (SELECT value FROM json_each(?))) AND policy IS NOT NULL
        ORDER BY port.rowid`,
      serverUuid,
      JSON.stringify(portIds),
    )
    .map(([id, networkId, policyId, vnicType]) => ({
      id: String(id),
      networkId: String(networkId),
      policyId: String(policyId),
      vnicType: String(vnicType),
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
