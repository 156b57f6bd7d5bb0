import type { Finding } from "./finding.js";
import type { Facts } from "./inputs.js";

/** Compute nodes that Placement does not know: nothing can be scheduled to them, and nothing on them is accounted. */
export function nodesWithoutProvider(facts: Facts): Finding[] {
  const names = new Set([...facts.snapshot.providers.values()].map(({ name }) => name));
  return facts.snapshot.hypervisors
    .filter(({ uuid, name }) => !facts.provider(uuid) && !names.has(name))
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
