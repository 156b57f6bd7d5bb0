import { groupBy } from "../../runtime/collections.js";
import { type Finding, providerSubject, reference } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

const HOW_TO_SETTLE =
  "find out which of the two is the host (compute_id in its state_path, my_ip), and fix or delete the other by hand";

/** Reports compute nodes and providers that do not match: both must have the same uuid and the node's name. */
export function identityClashes(index: SnapshotIndex): Finding[] {
  return [...misnamed(index), ...mistaken(index), ...sameNames(index)];
}

/** Returns the roots with a doubtful identity. The audit does not report consumers on them as orphaned. */
export function doubtfulRoots(index: SnapshotIndex): ReadonlySet<string> {
  return new Set(identityClashes(index).flatMap(({ subject, provider }) => [subject.uuid, provider?.uuid ?? ""]));
}

function byName(index: SnapshotIndex): ReadonlyMap<string, string> {
  return new Map([...index.snapshot.providers.values()].map(({ name, uuid }) => [name, uuid]));
}

/** Reports nodes whose provider has another name, because the host or the provider was renamed. */
function misnamed(index: SnapshotIndex): Finding[] {
  const names = byName(index);
  return index.snapshot.hypervisors.flatMap((node) => {
    const provider = index.provider(node.uuid);
    if (!provider || provider.name === node.name) {
      return [];
    }
    const taken = names.get(node.name);
    return {
      code: "identity-clash" as const,
      subject: { kind: "node" as const, uuid: node.uuid, name: node.name },
      provider: null,
      explanation: `compute node ${node.name} of host ${node.host} has a provider that is named ${provider.name}`,
      remedies: taken === undefined ? [{ kind: "rename-provider" as const, uuid: node.uuid, name: node.name }] : [],
      left: taken === undefined ? null : `the name belongs to provider ${taken}; ${HOW_TO_SETTLE}`,
    };
  });
}

/** Reports providers with the name of a node but another uuid, which prevent the node from having its own provider. */
function mistaken(index: SnapshotIndex): Finding[] {
  const names = byName(index);
  return index.snapshot.hypervisors.flatMap((node) => {
    const uuid = names.get(node.name);
    if (index.provider(node.uuid) || uuid === undefined) {
      return [];
    }
    const used = index.holdersIn(index.rootOf(uuid)).length;
    const alone = index.treeOf(uuid).length === 1 && index.node(uuid) === undefined;
    return {
      code: "identity-clash" as const,
      subject: { kind: "node" as const, uuid: node.uuid, name: node.name },
      provider: reference(index, uuid),
      explanation:
        `compute node ${node.name} of host ${node.host} has uuid ${node.uuid} but no provider, ` +
        `because provider ${uuid} has its name`,
      remedies:
        used === 0 && alone
          ? [
              { kind: "delete-provider" as const, uuid },
              { kind: "create-provider" as const, uuid: node.uuid, name: node.name },
            ]
          : [],
      left: used === 0 && alone ? null : `provider ${uuid} is in use (${used} consumers); ${HOW_TO_SETTLE}`,
    };
  });
}

/** Reports compute nodes of different hosts that seem to belong to one hypervisor. */
function sameNames(index: SnapshotIndex): Finding[] {
  return [...groupBy(index.snapshot.hypervisors, ({ name }) => name).values()]
    .filter((nodes) => nodes.length > 1)
    .flatMap(([first, ...others]) =>
      others.map((other) => ({
        code: "identity-clash" as const,
        subject: providerSubject(index, first?.uuid ?? ""),
        provider: reference(index, other.uuid),
        explanation: `hosts ${first?.host} and ${other.host} both have a compute node named ${other.name}`,
        remedies: [],
        left: HOW_TO_SETTLE,
      })),
    );
}

/** Reports compute nodes without a provider: nothing can be scheduled to them, and nothing on them is accounted for. */
export function nodesWithoutProvider(index: SnapshotIndex): Finding[] {
  const names = new Set([...index.snapshot.providers.values()].map(({ name }) => name));
  return index.snapshot.hypervisors
    .filter(({ uuid, name }) => !index.provider(uuid) && !names.has(name))
    .map(({ uuid, name, host, serviceUp }) => ({
      code: "node-without-provider" as const,
      subject: { kind: "node" as const, uuid, name },
      provider: null,
      explanation:
        `compute node ${name} of host ${host} has no resource provider; its agent ` +
        `(${serviceUp ? "up" : "down"}) fills in the inventory of a new one with its next pass`,
      remedies: [{ kind: "create-provider" as const, uuid, name }],
      left: null,
    }));
}

/** Reports root providers without a compute node that Nova created, or whose resources servers use. */
export function providersWithoutNode(index: SnapshotIndex): Finding[] {
  const nodeNames = new Set(index.snapshot.hypervisors.map(({ name }) => name));
  return [...index.snapshot.providers.values()]
    .filter(({ uuid, root }) => uuid === root && index.kindOf(uuid) === "nodeless")
    .filter(({ name }) => !nodeNames.has(name))
    .map((provider) => {
      const left = objection(index, provider.name);
      return {
        code: "provider-without-node" as const,
        subject: providerSubject(index, provider.uuid),
        provider: null,
        explanation: `no compute node has uuid ${provider.uuid} or the name ${provider.name}; consumers: ${index.holdersIn(provider.uuid).length}`,
        remedies:
          left === null
            ? leavesFirst(index, provider.uuid).map((uuid) => ({ kind: "delete-provider" as const, uuid }))
            : [],
        left,
      };
    });
}

/**
 * Returns the reason why a provider must stay: its compute node may return, or may have been renamed. Null if there is
 * none.
 */
function objection(index: SnapshotIndex, name: string): string | null {
  const { services, servers } = index.snapshot;
  if (services.some(({ host }) => host === name)) {
    return `host ${name} has a compute service: its agent recreates the compute node; start it, or delete the service`;
  }
  const recorded = [...servers.values()].filter(({ node, host }) => node === name || host === name).length;
  return recorded > 0 ? `${recorded} servers are recorded to be on ${name}; move or delete them first` : null;
}

/** Orders a tree for deletion: Placement deletes no provider that has children. */
function leavesFirst(index: SnapshotIndex, root: string): readonly string[] {
  const depth = (uuid: string): number => {
    const parent = index.provider(uuid)?.parent;
    return parent ? depth(parent) + 1 : 0;
  };
  return index.treeOf(root).toSorted((a, b) => depth(b) - depth(a) || a.localeCompare(b));
}
