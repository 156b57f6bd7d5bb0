import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";

/** Compute nodes that Placement does not know: nothing can be scheduled to them, and nothing on them is accounted. */
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
