import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { reference, serverSubject } from "./subjects.js";
import type { Whereabouts } from "./whereabouts.js";

/** Servers that were evacuated from a host that has not cleaned up since: they hold its resources still. */
export function unfinishedEvacuations(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return placed.flatMap(({ server, elsewhere }) =>
    elsewhere.flatMap(({ root, providers, explainedBy }) => {
      if (explainedBy?.type !== "evacuation") {
        return [];
      }
      const host = explainedBy.sourceHost;
      const isUp = index.node(root)?.serviceUp === true;
      return {
        code: "unfinished-evacuation" as const,
        subject: serverSubject(server),
        provider: reference(index, root),
        explanation:
          `the server was evacuated from host ${host} to ${explainedBy.destHost} (evacuation ${explainedBy.id}, ` +
          `${explainedBy.status}) and still holds resources of ${index.name(root)}`,
        remedies: isUp ? [] : [{ kind: "drop" as const, consumer: server.id, providers }],
        left: isUp
          ? `host ${host} is up, and may still have the guest: restart its nova-compute, which cleans up`
          : null,
      };
    }),
  );
}
