import type { Server } from "../read/records.js";
import type { ConsumerRemedy, Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { differences, needOf } from "./need.js";
import { placeNeed } from "./place-need.js";
import { reference, serverSubject } from "./subjects.js";
import { type Elsewhere, elsewhere, total, type Whereabouts } from "./whereabouts.js";

/** A server that holds something on another compute node only, or that has no compute node and holds something. */
export function wrongProviders(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return [...placed.flatMap((where) => misplaced(index, where)), ...unplaced(index)];
}

function misplaced(index: SnapshotIndex, where: Whereabouts): Finding[] {
  const { server, root, own, owedBy } = where;
  const strange = where.elsewhere.filter(({ explainedBy }) => explainedBy === undefined);
  const [first] = strange;
  if (!first || Object.keys(own).length > 0 || owedBy) {
    return [];
  }
  const need = placeNeed(index, server, root);
  const names = strange.map((each) => index.name(each.root)).join(", ");
  return [
    {
      code: "wrong-provider",
      subject: serverSubject(server),
      provider: reference(index, first.root),
      explanation: `the server is on ${index.name(root)} (host ${server.host}), and all it holds is on ${names}`,
      remedies: need
        ? [
            ...strange.map(({ providers }) => ({ kind: "drop" as const, consumer: server.id, providers })),
            ...Object.entries(need).map(
              ([provider, amounts]): ConsumerRemedy => ({ kind: "hold", consumer: server.id, provider, amounts }),
            ),
          ]
        : [],
      left: need
        ? null
        : `which providers of ${index.name(root)} should serve it cannot be told; set its allocations by hand`,
    },
  ];
}

/** Shelved and offloaded, or failed before a host had it: nothing runs, so nothing is used (V14). */
function unplaced(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.servers.values()]
    .filter((server) => server.host === null && index.isAtRest(server))
    .flatMap((server) => {
      const trees = elsewhere(index, server, new Set());
      const [first] = trees;
      if (!first || isInterruptedBuild(index, server, trees)) {
        return [];
      }
      return {
        code: "wrong-provider" as const,
        subject: serverSubject(server),
        provider: reference(index, first.root),
        explanation: `the server (${server.vmState}) has no host, and holds resources of ${trees.map(({ root }) => index.name(root)).join(", ")}`,
        remedies: trees.map(({ providers }) => ({ kind: "drop" as const, consumer: server.id, providers })),
        left: null,
      };
    });
}

/**
 * An agent that died before it had claimed for a build leaves the server in error, with what the scheduler gave it, on one host.
 * Nova keeps that until the server is deleted (6.1).
 */
function isInterruptedBuild(index: SnapshotIndex, server: Server, trees: readonly Elsewhere[]): boolean {
  const held = total(index.heldBy(server.id));
  return server.vmState === "error" && trees.length === 1 && differences(held, needOf(server)).length === 0;
}
