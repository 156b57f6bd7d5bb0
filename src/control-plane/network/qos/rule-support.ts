import { and, isOneOf, where } from "../../resources/condition.js";
import type { NetworkContext } from "../engine/network-context.js";
import { networkError } from "../engine/network-errors.js";
import { PORT_BINDINGS } from "../resources/ports.js";
import type { RuleType } from "../resources/qos-policies.js";
import { SEGMENTS } from "../resources/segments.js";
import { findRulesOf } from "./rules-of-policies.js";

/** A port that has a policy, itself or by its network. */
export interface PortOfPolicy {
  readonly id: string;
  readonly network_id: string;
}

/** The types of interfaces whose traffic the emulated mechanism driver `openvswitch` shapes. */
const SHAPED_VNIC_TYPES = ["normal", "direct"];

/** @throws {HttpError} 409 if a port does not support one of the policy's rules */
export function assertPortsSupportPolicy(
  context: NetworkContext,
  policyId: string,
  ports: readonly PortOfPolicy[],
): void {
  const rules = findRulesOf(context, [policyId]).get(policyId) ?? [];
  if (rules.length === 0 || ports.length === 0) {
    return;
  }
  const physical = physicalNetworks(
    context,
    ports.map((port) => port.network_id),
  );
  const shaped = shapedPorts(
    context,
    ports.map((port) => port.id),
  );
  for (const port of ports) {
    const isShaped = shaped.has(port.id);
    const unsupported = rules.find(({ type }) => !isShaped || !isSupportedBy(type, physical.has(port.network_id)));
    if (unsupported) {
      const message = `Rule ${unsupported.type} is not supported by port ${port.id}`;
      throw networkError(409, "QosRuleNotSupported", message);
    }
  }
}

/** @throws {HttpError} 409 if a network does not support one of the policy's rules */
export function assertNetworkSupportsPolicy(context: NetworkContext, policyId: string, networkId: string): void {
  const rules = findRulesOf(context, [policyId]).get(policyId) ?? [];
  const isPhysical = rules.length > 0 && physicalNetworks(context, [networkId]).has(networkId);
  const unsupported = rules.find(({ type }) => !isSupportedBy(type, isPhysical));
  if (unsupported) {
    const message = `Rule ${unsupported.type} is not supported by network ${networkId}`;
    throw networkError(409, "QosRuleNotSupportedByNetwork", message);
  }
}

/** Bandwidth can be guaranteed only where the first segment of the network is one of a physical network. */
const isSupportedBy = (type: RuleType, isPhysical: boolean): boolean => type !== "minimum_bandwidth" || isPhysical;

/** Returns the ids of those ports whose interface has a type that the driver shapes. */
function shapedPorts(context: NetworkContext, portIds: readonly string[]): ReadonlySet<string> {
  const bindings = context.table(PORT_BINDINGS).find(and(isOneOf("port_id", portIds), where`status = ${"ACTIVE"}`));
  return new Set(
    bindings.filter((binding) => SHAPED_VNIC_TYPES.includes(binding.vnic_type)).map((binding) => binding.port_id),
  );
}

/** Returns the ids of those networks whose first segment has a physical network. */
function physicalNetworks(context: NetworkContext, networkIds: readonly string[]): ReadonlySet<string> {
  const segments = context
    .table(SEGMENTS)
    .find(isOneOf("network_id", [...new Set(networkIds)]), "ORDER BY segment_index");
  const first = new Map(segments.toReversed().map((segment) => [segment.network_id, segment]));
  return new Set(
    [...first.values()].filter((segment) => segment.physical_network).map((segment) => segment.network_id),
  );
}
