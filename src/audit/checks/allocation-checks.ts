import type { Held, Server } from "../read/records.js";
import {
  type ConsumerRemedy,
  type Finding,
  migrationSubject,
  reference,
  type Subject,
  serverSubject,
} from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import {
  allocationsElsewhere,
  type Difference,
  describeAmounts,
  differences,
  type Elsewhere,
  needOf,
  needOfPorts,
  offering,
  placeNeed,
  total,
  type Whereabouts,
} from "./server-allocations.js";

/** Reports placed servers without allocations, and unconfirmed moves without allocations on their source. */
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
      explanation: `the server is on ${index.name(root)} (host ${server.host}) and has no allocations there; it needs ${describeAmounts(amounts)}`,
      need: placeNeed(index, server, root),
    }),
  ];
}

/** Without these allocations a revert finds no reserved resources (spec 7.7 OA-15). */
function missingSource(index: SnapshotIndex, { server, root, own, elsewhere }: Whereabouts): Finding[] {
  const move = index.unconfirmed(server);
  const source = move && index.sourceOf(move);
  if (!move || move.uuid === null || !source || !index.provider(source.uuid)) {
    return [];
  }
  const held = Object.keys(index.heldBy(move.uuid)).length > 0 || elsewhere.some((tree) => tree.root === source.uuid);
  // On one host, the source and destination allocations may be one sum that the server owns (6.0).
  if (held || source.uuid === root || Object.keys(own).length === 0) {
    return [];
  }
  const what = `${move.type} ${move.id} of server ${server.name} waits for its confirmation, and has no allocations on its source ${source.name}`;
  return [
    finding(index, {
      subject: migrationSubject(move.uuid, move),
      server,
      root: source.uuid,
      explanation: move.type === "resize" ? `${what}; the API does not return its old flavor` : what,
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
    left: remedies.length > 0 ? null : "its correct allocations cannot be determined; set them by hand",
  };
}

/** Reports servers with allocations on their own compute node and on another one that no move explains. */
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
            `the server is on ${index.name(root)} (host ${server.host}) and has allocations there; ` +
            `it also has allocations on ${index.name(tree.root)}, and no migration in progress explains them`,
          remedies: [{ kind: "drop" as const, consumer: server.id, providers: tree.providers }],
          left: null,
        })),
    );
}

/**
 * Reports servers whose allocations on their own compute node differ from their flavor, or lack resources of their ports.
 * Nova leaves those of a deleted port to the server, so that more of them is not wrong.
 */
export function wrongAmounts(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  return placed.flatMap((where) => {
    const { server, root, own } = where;
    if (Object.keys(own).length === 0 || mayBeTwoFlavors(index, where)) {
      return [];
    }
    const ofFlavor = differences(total(own), needOf(server));
    const ofPorts = missingOfPorts(index, where);
    if (ofFlavor.length === 0 && ofPorts.length === 0) {
      return [];
    }
    const remedies = [...ofFlavor.map((difference) => remedyOf(index, where, difference)), ...ofPorts];
    const possible = remedies.filter((remedy) => remedy !== undefined);
    const all = possible.length === remedies.length;
    const details = [
      ...ofFlavor.map((each) => `${each.resourceClass} ${each.held} instead of ${each.needed}`),
      ...ofPorts.map(({ provider, amounts }) => `less than ${describeAmounts(amounts)} on ${index.name(provider)}`),
    ].join(", ");
    const expected = ofPorts.length === 0 ? "flavor" : "flavor and ports";
    return {
      code: "wrong-amounts" as const,
      subject: serverSubject(server),
      provider: reference(index, root),
      explanation: `the server's allocations on ${index.name(root)} differ from its ${expected}: ${details}`,
      remedies: all ? possible : [],
      left: all ? null : "the correct provider cannot be determined; set its allocations by hand",
    };
  });
}

function missingOfPorts(index: SnapshotIndex, { server, root, own }: Whereabouts) {
  return Object.entries(needOfPorts(index, server, root)).flatMap(([provider, needed]) => {
    const lacking = Object.entries(needed).filter(([name, amount]) => (own[provider]?.[name] ?? 0) < amount);
    const amounts = Object.fromEntries(lacking);
    return lacking.length === 0 ? [] : [{ kind: "hold" as const, consumer: server.id, provider, amounts }];
  });
}

/**
 * Returns whether the server's allocations may include its old flavor, which the API does not return: a resize on one
 * host whose sum the server owns, as in Pike (6.4).
 */
function mayBeTwoFlavors(index: SnapshotIndex, { server, root }: Whereabouts): boolean {
  const move = index.unconfirmed(server);
  return (
    move !== undefined &&
    index.sourceOf(move)?.uuid === root &&
    (move.uuid === null || Object.keys(index.heldBy(move.uuid)).length === 0)
  );
}

function remedyOf(
  index: SnapshotIndex,
  { server, root, own }: Whereabouts,
  { resourceClass, needed }: Difference,
): ConsumerRemedy | undefined {
  const holding = Object.entries(own).filter(([, amounts]) => resourceClass in amounts);
  const [only, more] = holding.map(([uuid]) => uuid);
  const provider = only ?? offering(index, root, resourceClass);
  if (more !== undefined || provider === undefined) {
    return undefined;
  }
  return { kind: "hold", consumer: server.id, provider, amounts: { [resourceClass]: needed } };
}

/** Reports consumers whose project or user is not their server's: another project's quota is charged. */
export function wrongOwners(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.records.values()].flatMap((record) => {
    const move = index.migration(record.uuid);
    const server = index.snapshot.servers.get(move?.server ?? record.uuid);
    if (!server || server.userId === null || record.generation === null || !index.isAtRest(server)) {
      return [];
    }
    const { projectId, userId } = server;
    const wrong = [
      record.projectId === projectId ? [] : [`project ${record.projectId} instead of ${projectId}`],
      record.userId === userId ? [] : [`user ${record.userId} instead of ${userId}`],
    ].flat();
    if (wrong.length === 0) {
      return [];
    }
    return {
      code: "wrong-owner" as const,
      subject: move ? migrationSubject(record.uuid, move) : serverSubject(server),
      provider: null,
      explanation: `its allocations belong to ${wrong.join(" and ")}`,
      remedies: [{ kind: "own" as const, consumer: record.uuid, projectId, userId }],
      left: null,
    };
  });
}

/** Reports servers with allocations only on a compute node that is not theirs, or without a compute node. */
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
      explanation: `the server is on ${index.name(root)} (host ${server.host}), and all of its allocations are on ${names}`,
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
        : `the correct providers of ${index.name(root)} cannot be determined; set its allocations by hand`,
    },
  ];
}

/**
 * Reports servers without a host: shelved and offloaded, or failed before a host had them. Nothing runs, so nothing may
 * be allocated (V14).
 */
function unplaced(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.servers.values()]
    .filter((server) => server.host === null && index.isAtRest(server))
    .flatMap((server) => {
      const trees = allocationsElsewhere(index, server, new Set());
      const [first] = trees;
      if (!first || isInterruptedBuild(index, server, trees)) {
        return [];
      }
      return {
        code: "wrong-provider" as const,
        subject: serverSubject(server),
        provider: reference(index, first.root),
        explanation: `the server (${server.vmState}) has no host, but has allocations on ${trees.map(({ root }) => index.name(root)).join(", ")}`,
        remedies: trees.map(({ providers }) => ({ kind: "drop" as const, consumer: server.id, providers })),
        left: null,
      };
    });
}

/**
 * Returns whether an agent died before it claimed resources for a build. The server is then in error with the
 * scheduler's allocations on one host, which Nova keeps until the server is deleted (6.1).
 */
function isInterruptedBuild(index: SnapshotIndex, server: Server, trees: readonly Elsewhere[]): boolean {
  const held = total(index.heldBy(server.id));
  return server.vmState === "error" && trees.length === 1 && differences(held, needOf(server)).length === 0;
}
