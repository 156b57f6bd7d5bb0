import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { reference, serverSubject } from "./subjects.js";
import type { Whereabouts } from "./whereabouts.js";

/** A server that holds something on its own compute node, and on another one that no move explains. */
export function doubledAllocations(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return placed
    .filter(({ own }) => Object.keys(own).length > 0)
    .flatMap(({ server, root, elsewhere }) =>
      elsewhere
        .filter(({ explainedBy }) => explainedBy === undefined)
        .map((tree) => ({
          code: "doubled-allocation" as const,
          subject: serverSubject(server),
          provider: reference(index, tree.root),
          explanation:
            `the server is on ${index.name(root)} (host ${server.host}) and holds resources there; ` +
            `it holds them on ${index.name(tree.root)}, too, and no migration is under way that explains it`,
          remedies: [{ kind: "drop" as const, consumer: server.id, providers: tree.providers }],
          left: null,
        })),
    );
}
