import type { Finding } from "./finding.js";
import type { Facts } from "./inputs.js";
import { providerSubject } from "./subjects.js";

/** Root providers that Nova made, or that offer what servers use, and that no compute node answers for. */
export function providersWithoutNode(facts: Facts): Finding[] {
  const nodeNames = new Set(facts.snapshot.hypervisors.map(({ name }) => name));
  return [...facts.snapshot.providers.values()]
    .filter(({ uuid, root }) => uuid === root && facts.kindOf(uuid) === "nodeless")
    .filter(({ name }) => !nodeNames.has(name))
    .map((provider) => {
      const left = objection(facts, provider.name);
      return {
        code: "provider-without-node" as const,
        subject: providerSubject(facts, provider.uuid),
        provider: null,
        explanation: `no compute node has uuid ${provider.uuid} or the name ${provider.name}; consumers: ${facts.holdersIn(provider.uuid).length}`,
        remedies:
          left === null
            ? leavesFirst(facts, provider.uuid).map((uuid) => ({ kind: "delete-provider" as const, uuid }))
            : [],
        left,
      };
    });
}

/** Signs that the compute node may come back, or has another name by now. */
function objection(facts: Facts, name: string): string | null {
  const { services, servers } = facts.snapshot;
  if (services.some(({ host }) => host === name)) {
    return `host ${name} has a compute service: its agent makes the compute node again; start it, or delete the service`;
  }
  const recorded = [...servers.values()].filter(({ node, host }) => node === name || host === name).length;
  return recorded > 0 ? `${recorded} servers are recorded to be on ${name}; move or delete them first` : null;
}

/** Placement deletes no provider that has children. */
function leavesFirst(facts: Facts, root: string): readonly string[] {
  const depth = (uuid: string): number => {
    const parent = facts.provider(uuid)?.parent;
    return parent ? depth(parent) + 1 : 0;
  };
  return [...facts.treeOf(root)].toSorted((a, b) => depth(b) - depth(a) || a.localeCompare(b));
}
