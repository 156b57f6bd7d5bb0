import type { Hypervisor } from "../read/records.js";
import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { providerSubject, reference } from "./subjects.js";

const HOW_TO_SETTLE =
  "find out which of the two is the host (compute_id in its state_path, my_ip), and mend or delete the other by hand";

/** A compute node and its provider are one thing: same uuid, and the node's name. */
export function identityClashes(index: SnapshotIndex): Finding[] {
  return [...misnamed(index), ...mistaken(index), ...sameNames(index)];
}

/** Roots whose identity is in doubt: the audit calls nothing that they hold orphaned. */
export function doubtfulRoots(index: SnapshotIndex): ReadonlySet<string> {
  return new Set(identityClashes(index).flatMap(({ subject, provider }) => [subject.uuid, provider?.uuid ?? ""]));
}

function byName(index: SnapshotIndex): ReadonlyMap<string, string> {
  return new Map([...index.snapshot.providers.values()].map(({ name, uuid }) => [name, uuid]));
}

/** The node's provider has another name: the host was renamed, or the provider was. */
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

/** A provider has the node's name and another uuid: the node cannot have a provider of its own. */
function mistaken(index: SnapshotIndex): Finding[] {
  const names = byName(index);
  return index.snapshot.hypervisors.flatMap((node) => {
    const uuid = names.get(node.name);
    if (index.provider(node.uuid) || uuid === undefined) {
      return [];
    }
    const used = index.holdersIn(index.rootOf(uuid)).length;
    const alone = index.treeOf(uuid).size === 1 && index.node(uuid) === undefined;
    return {
      code: "identity-clash" as const,
      subject: { kind: "node" as const, uuid: node.uuid, name: node.name },
      provider: reference(index, uuid),
      explanation:
        `compute node ${node.name} of host ${node.host} has uuid ${node.uuid} and no provider, ` +
        `for provider ${uuid} has its name`,
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

/** Two hosts have a compute node for what seems to be one hypervisor. */
function sameNames(index: SnapshotIndex): Finding[] {
  const groups = new Map<string, Hypervisor[]>();
  for (const node of index.snapshot.hypervisors) {
    groups.set(node.name, [...(groups.get(node.name) ?? []), node]);
  }
  return [...groups.values()]
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
