import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { providerSubject } from "./subjects.js";

/** Root providers that Nova made, or that offer what servers use, and that no compute node answers for. */
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

/** Signs that the compute node may come back, or has another name by now. */
function objection(index: SnapshotIndex, name: string): string | null {
  const { services, servers } = index.snapshot;
  if (services.some(({ host }) => host === name)) {
    return `host ${name} has a compute service: its agent makes the compute node again; start it, or delete the service`;
  }
  const recorded = [...servers.values()].filter(({ node, host }) => node === name || host === name).length;
  return recorded > 0 ? `${recorded} servers are recorded to be on ${name}; move or delete them first` : null;
}

/** Placement deletes no provider that has children. */
function leavesFirst(index: SnapshotIndex, root: string): readonly string[] {
  const depth = (uuid: string): number => {
    const parent = index.provider(uuid)?.parent;
    return parent ? depth(parent) + 1 : 0;
  };
  return [...index.treeOf(root)].toSorted((a, b) => depth(b) - depth(a) || a.localeCompare(b));
}
