import { isPlacementError } from "../../../placement-client/errors.js";
import type { Allocations } from "../../../placement-client/types.js";
import { where } from "../../resources/condition.js";
import type { ExternalChange, NetworkContext } from "../engine/network-context.js";
import { networkError, notImplemented } from "../engine/network-errors.js";
import type { NetworkInput, NetworkRecord } from "../engine/network-resource.js";
import { type MinimumRule, minimumRulesOf } from "../qos/minimum-rules.js";
import type { NETWORKS } from "../resources/networks.js";
import { PORTS, type PortInput, type PortRecord } from "../resources/ports.js";
import { activeBindingOf, bindingsOf } from "./host-bindings.js";
import { type AllocatedBinding, allocationIn, type PortAllocation, replaceAllocation } from "./port-allocations.js";
import { groupIdOf, policyOfNetwork, resourceClassOf } from "./resource-requests.js";

type Network = NetworkRecord<typeof NETWORKS>;

/** A change of QoS policies; null: none. */
interface PolicyChange {
  readonly before: string | null;
  readonly after: string | null;
}

/** Amounts to add, or to subtract if negative: provider → resource class → amount. */
type Difference = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The change of a port's allocations that follows from that of its policy. */
interface PortChange {
  /** The server. */
  readonly consumer: string;
  /** The active binding, with the allocation before the change. */
  readonly binding: AllocatedBinding;
  readonly difference: Difference;
  /** The allocation after the change; undefined: the port has none. */
  readonly allocation: PortAllocation | undefined;
  /** Types of rules without a provider in the allocation: only a build or a move chooses one. */
  readonly unallocated: readonly string[];
  /** Whether only one of the policies has packet rates that are the sum of both directions. */
  readonly isMixed: boolean;
}

/** A change that Placement has accepted, and the difference that it made. */
interface AppliedChange {
  readonly change: PortChange;
  readonly difference: Difference;
}

/** Plans the change of a server's allocations when its port gets another policy. */
export function planPortUpdate(
  context: NetworkContext,
  port: PortRecord,
  { qos_policy_id: requested = null }: PortInput,
): ExternalChange | undefined {
  const before = port.qos_policy_id ?? policyOfNetwork(context, port.network_id);
  // Neutron frees the resources of a port that loses its policy, even if the network has another one.
  return planChanges(context, "port", [port], { before, after: requested });
}

/** Plans the changes of servers' allocations when a network gets another policy, which ports without their own have. */
export function planNetworkUpdate(
  context: NetworkContext,
  { id, qos_policy_id: before }: Network,
  { qos_policy_id: after = null }: NetworkInput<typeof NETWORKS>,
): ExternalChange | undefined {
  const ports = context.table(PORTS).find(where`network_id = ${id} AND qos_policy_id IS NULL`, "ORDER BY rowid");
  return planChanges(context, "network", ports, { before, after });
}

function planChanges(
  context: NetworkContext,
  changed: "port" | "network",
  ports: readonly PortRecord[],
  { before, after }: PolicyChange,
): ExternalChange | undefined {
  if (context.services.placement === undefined || before === after) {
    return undefined;
  }
  const ofServers = ports.filter((port) => port.device_owner.startsWith("compute:"));
  const rules = minimumRulesOf(
    context,
    [before, after].filter((id) => id !== null),
  );
  const original = rules.get(before ?? "") ?? [];
  const desired = rules.get(after ?? "") ?? [];
  if (original.length === 0 && desired.length === 0) {
    return undefined;
  }
  const bindings = bindingsOf(
    context,
    ofServers.map(({ id }) => id),
  );
  const changes = ofServers.flatMap((port) => {
    const active = bindings.get(port.id)?.find(({ status }) => status === "ACTIVE");
    if (active === undefined) {
      return [];
    }
    // Without the members that change when the host plugs the port.
    const { id, port_id, host, profile } = active;
    return [planPort(port, { id, port_id, host, profile }, original, desired)];
  });
  return changes.length > 0 ? new AllocationUpdate(changed, changes) : undefined;
}

function planPort(
  { id, device_id: consumer }: PortRecord,
  binding: AllocatedBinding,
  original: readonly MinimumRule[],
  desired: readonly MinimumRule[],
): PortChange {
  const previous = allocationIn(binding.profile);
  const providers = new Map<string, string>();
  const allocation: Record<string, string> = {};
  for (const type of new Set(original.map((rule) => rule.type))) {
    const [rules, successors] = [original, desired].map((all) => all.filter((rule) => rule.type === type));
    const provider = previous[groupIdOf(id, rules ?? [])];
    if (provider !== undefined) {
      providers.set(type, provider);
      if (successors?.length) {
        allocation[groupIdOf(id, successors)] = provider;
      }
    }
  }
  const packetRates = [original, desired].map((rules) => rules.filter(({ type }) => type === "minimum_packet_rate"));
  const sums = packetRates.filter((rules) => rules.length > 0).map((rules) => rules[0]?.direction === "any");
  const types = new Set([...original, ...desired].map(({ type }) => type));
  return {
    consumer,
    binding,
    difference: differenceOf(original, desired, providers),
    allocation: original.length > 0 && Object.keys(previous).length > 0 ? allocation : undefined,
    unallocated: [...types].filter((type) => !providers.has(type)),
    isMixed: providers.has("minimum_packet_rate") && new Set(sums).size > 1,
  };
}

function differenceOf(
  original: readonly MinimumRule[],
  desired: readonly MinimumRule[],
  providers: ReadonlyMap<string, string>,
): Difference {
  const difference: Record<string, Record<string, number>> = {};
  const add = (rule: MinimumRule, amount: number) => {
    const provider = providers.get(rule.type);
    if (provider !== undefined) {
      const amounts = difference[provider] ?? {};
      difference[provider] = amounts;
      const name = resourceClassOf(rule);
      amounts[name] = (amounts[name] ?? 0) + amount;
    }
  };
  for (const rule of original) {
    add(rule, -rule.rate);
  }
  for (const rule of desired) {
    add(rule, rule.rate);
  }
  return mapAmounts(difference, (amount) => amount);
}

/** Changes the allocations of the servers of ports, and the providers in the ports' bindings. */
class AllocationUpdate implements ExternalChange {
  /** The resource whose policy changes. */
  readonly changed: "port" | "network";
  readonly ports: readonly PortChange[];
  #applied: readonly AppliedChange[] = [];

  constructor(changed: "port" | "network", ports: readonly PortChange[]) {
    this.changed = changed;
    this.ports = ports;
  }

  /** Stops at the first failure. As in Neutron, a network gets its policy even then, and the other ports keep what they have. */
  async apply(context: NetworkContext): Promise<void> {
    for (const change of this.ports) {
      try {
        this.#applied = [...this.#applied, { change, difference: await applyToPort(context, change) }];
      } catch (error) {
        if (this.changed === "port") {
          throw error;
        }
        const { consumer, binding } = change;
        context.services.logger.error(
          `server ${consumer}: allocations for port ${binding.port_id} could not be changed to the new QoS policy of its network`,
          { server: consumer, port: binding.port_id, err: error },
        );
        return;
      }
    }
  }

  complete(context: NetworkContext): void {
    for (const { change } of this.#applied) {
      const { binding, allocation } = change;
      if (allocation !== undefined) {
        replaceAllocation(context, binding, allocation);
        if (this.changed === "network") {
          context.touch(PORTS, binding.port_id);
        }
      }
    }
  }

  async undo(context: NetworkContext): Promise<void> {
    for (const applied of this.#applied) {
      const { consumer, binding } = applied.change;
      try {
        await undoOfPort(context, applied);
      } catch (error) {
        context.services.logger.error(
          `server ${consumer}: allocations for port ${binding.port_id} could not be changed back after a failed update; heal its allocations`,
          { server: consumer, port: binding.port_id, err: error },
        );
      }
    }
  }
}

/** Returns the difference that was made. @throws {HttpError} */
async function applyToPort(context: NetworkContext, change: PortChange): Promise<Difference> {
  const { consumer, binding, difference, unallocated, isMixed } = change;
  const { placement, logger } = context.services;
  if (isMixed) {
    throw notImplemented(
      "Changing from direction-less QoS minimum packet rate rule to a direction-oriented minimum packet rate rule, or vice versa, is not supported.",
    );
  }
  for (const type of unallocated) {
    const message = `port ${binding.port_id} has no provider for ${type} rules; nothing is allocated for them`;
    logger.warn(message, { port: binding.port_id });
  }
  if (Object.keys(difference).length === 0) {
    return {};
  }
  let applied: Difference = {};
  const edit = (allocations: Allocations) => {
    assertAllocated(change, allocations);
    applied = limitTo(allocations, difference);
    return add(allocations, applied);
  };
  try {
    await placement?.editAllocations(consumer, edit);
    return applied;
  } catch (error) {
    const isConflict = isPlacementError(error, "AllocationUpdateFailed") && [null, 409].includes(error.status);
    throw isConflict ? toConflict(change, error.status) : error;
  }
}

/** @throws {HttpError} 400 if the server has no allocations on a provider any more: it was moved or deleted */
function assertAllocated({ consumer, difference }: PortChange, allocations: Allocations): void {
  if (Object.keys(allocations).length === 0) {
    throw networkError(400, "PlacementAllocationRemoved", `Resource allocation is deleted for consumer ${consumer}`);
  }
  const missing = Object.keys(difference).find((provider) => allocations[provider] === undefined);
  if (missing !== undefined) {
    const message = `Resource provider ${missing} for ${consumer} does not exist`;
    throw networkError(400, "PlacementAllocationRpNotExists", message);
  }
}

/** @param status that of Placement; null: others have changed the allocations at each attempt */
function toConflict({ consumer, difference }: PortChange, status: number | null): Error {
  if (status === null) {
    const message = `Resource allocation has been changed for consumer ${consumer} in Placement while Neutron tried to update it.`;
    return networkError(409, "PlacementAllocationGenerationConflict", message);
  }
  const message = `Updating placement allocation with ${JSON.stringify(difference)} for consumer ${consumer} failed. The requested resources would exceed the capacity available.`;
  return networkError(409, "QosPlacementAllocationUpdateConflict", message);
}

/** Reverts the difference. A port that has left its server or host gets nothing back: its resources were freed there. */
async function undoOfPort(context: NetworkContext, { change, difference }: AppliedChange): Promise<void> {
  if (Object.keys(difference).length === 0) {
    return;
  }
  const { consumer, binding } = change;
  const port = context.table(PORTS).get(binding.port_id);
  const isThere = port?.device_id === consumer && activeBindingOf(context, binding.port_id)?.host === binding.host;
  const reverse = mapAmounts(difference, (amount) => (isThere || amount > 0 ? -amount : 0));
  await context.services.placement?.editAllocations(consumer, (allocations) =>
    Object.keys(allocations).length === 0 ? null : add(allocations, limitTo(allocations, reverse)),
  );
}

/** Returns a difference that subtracts no more than there is. */
function limitTo(allocations: Allocations, difference: Difference): Difference {
  return mapAmounts(difference, (amount, provider, name) =>
    Math.max(amount, -(allocations[provider]?.resources[name] ?? 0)),
  );
}

/** Adds amounts to allocations. Resources of which nothing is left are removed, and providers without resources. */
function add(allocations: Allocations, difference: Difference): Allocations {
  const sums: Record<string, Record<string, number>> = {};
  for (const provider of new Set([...Object.keys(allocations), ...Object.keys(difference)])) {
    const amounts = { ...allocations[provider]?.resources };
    for (const [name, amount] of Object.entries(difference[provider] ?? {})) {
      amounts[name] = (amounts[name] ?? 0) + amount;
    }
    sums[provider] = amounts;
  }
  const left = mapAmounts(sums, (amount) => amount);
  return Object.fromEntries(Object.entries(left).map(([provider, resources]) => [provider, { resources }]));
}

/** Converts amounts; leaves out those that are zero, and providers without others. */
function mapAmounts(
  amounts: Difference,
  convert: (amount: number, provider: string, name: string) => number,
): Difference {
  const providers = Object.entries(amounts).map(([provider, byClass]) => {
    const converted = Object.entries(byClass).map(([name, amount]) => [name, convert(amount, provider, name)] as const);
    return [provider, Object.fromEntries(converted.filter(([, amount]) => amount !== 0))] as const;
  });
  return Object.fromEntries(providers.filter(([, byClass]) => Object.keys(byClass).length > 0));
}
