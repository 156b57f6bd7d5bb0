import type { Held, Server } from "../read/records.js";
import type { ConsumerRemedy, Finding, Subject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { needOf } from "./need.js";
import { describeAmounts, placeNeed } from "./place-need.js";
import { migrationSubject, reference, serverSubject } from "./subjects.js";
import type { Whereabouts } from "./whereabouts.js";

/** A placed server that holds nothing for it, and an unconfirmed move that no longer holds its source. */
export function missingAllocations(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return [
    ...placed.flatMap((where) => missingOwn(index, where)),
    ...placed.flatMap((where) => missingSource(index, where)),
  ];
}

function missingOwn(index: SnapshotIndex, { server, root, own, elsewhere, owedBy }: Whereabouts): Finding[] {
  const explained = elsewhere.every(({ explainedBy }) => explainedBy !== undefined);
  const { amounts } = needOf(server);
  if (Object.keys(own).length > 0 || !explained || owedBy || Object.keys(amounts).length === 0) {
    return [];
  }
  return [
    finding(index, {
      subject: serverSubject(server),
      server,
      root,
      explanation: `the server is on ${index.name(root)} (host ${server.host}) and holds nothing there; it needs ${describeAmounts(amounts)}`,
      need: placeNeed(index, server, root),
    }),
  ];
}

/** Spec 7.7 OA-15: reverting would find no room reserved. */
function missingSource(index: SnapshotIndex, { server, root, own, elsewhere }: Whereabouts): Finding[] {
  const move = index.unconfirmed(server);
  const source = move && index.sourceOf(move);
  if (!move || move.uuid === null || !source || !index.provider(source.uuid)) {
    return [];
  }
  const held = Object.keys(index.heldBy(move.uuid)).length > 0 || elsewhere.some((tree) => tree.root === source.uuid);
  // On one host both halves may be one sum of the server's own (6.0).
  if (held || source.uuid === root || Object.keys(own).length === 0) {
    return [];
  }
  const what = `${move.type} ${move.id} of server ${server.name} waits for its confirmation, and nothing is held on its source ${source.name}`;
  return [
    finding(index, {
      subject: migrationSubject(move.uuid, move),
      server,
      root: source.uuid,
      explanation: move.type === "resize" ? `${what}; what the old flavor needs is not told by the API` : what,
      need: move.type === "migration" ? placeNeed(index, server, source.uuid) : undefined,
    }),
  ];
}

interface Missing {
  readonly subject: Subject;
  readonly server: Server;
  readonly root: string;
  readonly explanation: string;
  readonly need: Held | undefined;
}

function finding(index: SnapshotIndex, { subject, server, root, explanation, need }: Missing): Finding {
  const consumer = subject.uuid;
  const { projectId, userId } = server;
  const remedies: ConsumerRemedy[] =
    need && userId !== null
      ? [
          { kind: "own", consumer, projectId, userId },
          ...Object.entries(need).map(
            ([provider, amounts]): ConsumerRemedy => ({ kind: "hold", consumer, provider, amounts }),
          ),
        ]
      : [];
  return {
    code: "missing-allocation",
    subject,
    provider: reference(index, root),
    explanation,
    remedies,
    left: remedies.length > 0 ? null : "what it should hold, and where, cannot be told; set its allocations by hand",
  };
}
