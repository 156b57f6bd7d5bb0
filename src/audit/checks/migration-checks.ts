import { hasEnded, type Migration, type Server } from "../read/records.js";
import { type Finding, migrationSubject, reference, type Subject, serverSubject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import type { Whereabouts } from "./server-allocations.js";

/** Reports ended migrations that still have allocations, and migrations that have stopped making progress. */
export function unfinishedMigrations(index: SnapshotIndex, placed: readonly Whereabouts[]): Finding[] {
  const owed = new Map(placed.flatMap(({ server, owedBy }) => (owedBy ? [[owedBy, server] as const] : [])));
  return index.snapshot.migrations.flatMap((migration) => {
    const server = index.snapshot.servers.get(migration.server);
    if (server) {
      return [...leaked(index, migration, server, owed.get(migration)), ...stuck(index, migration, server)];
    }
    return hasEnded(migration) ? leaked(index, migration, undefined, undefined) : [];
  });
}

/**
 * Reports the allocations of an ended migration (spec 9.3). @param creditor the server that lacks these allocations on
 * its own node
 */
function leaked(
  index: SnapshotIndex,
  migration: Migration,
  server: Server | undefined,
  creditor: Server | undefined,
): Finding[] {
  const { uuid, id, type, status } = migration;
  const [first] = uuid === null ? [] : Object.keys(index.heldBy(uuid));
  const abandoned = server !== undefined && index.isAbandoned(migration, server);
  const isOver = hasEnded(migration) || abandoned;
  if (uuid === null || first === undefined || !isOver || (server && !index.isAtRest(server))) {
    return [];
  }
  const whose = server ? `of server ${server.name}` : "of a server that no longer exists";
  const end = abandoned
    ? `waits for a confirmation (${status}), which the server does not accept since it was reset to ${server.vmState},`
    : `has ended (${status})`;
  return [
    {
      code: "unfinished-migration",
      subject: migrationSubject(uuid, migration),
      provider: reference(index, index.rootOf(first)),
      explanation: creditor
        ? `${type} ${id} ${whose} ${end} and still has the allocations that the server needs on ${index.name(first)}`
        : `${type} ${id} ${whose} ${end} and still has allocations on ${index.name(first)}`,
      remedies: [
        creditor ? { kind: "take-over", consumer: creditor.id, from: uuid } : { kind: "clear", consumer: uuid },
      ],
      left: null,
    },
  ];
}

/** Reports a migration that its record describes as in progress, although its server is at rest. */
function stuck(index: SnapshotIndex, migration: Migration, server: Server): Finding[] {
  const { id, type, status, changedAt } = migration;
  const rests = server.taskState === null && server.status !== "UNKNOWN" && server.vmState !== "building";
  if (
    hasEnded(migration) ||
    !rests ||
    index.unconfirmed(server) === migration ||
    index.isAbandoned(migration, server)
  ) {
    return [];
  }
  if (index.snapshot.now - changedAt <= index.moveTimeouts.stuck) {
    return [];
  }
  const subject = migration.uuid === null ? serverSubject(server) : migrationSubject(migration.uuid, migration);
  return [
    {
      code: type === "evacuation" ? "unfinished-evacuation" : "unfinished-migration",
      subject,
      provider: null,
      explanation: `${type} ${id} of server ${server.name} is ${status}, and has made no progress for minutes`,
      remedies: [],
      left: `restart nova-compute on ${migration.sourceHost}${migration.destHost === null ? "" : ` and ${migration.destHost}`}, and run the audit again`,
    },
  ];
}

/** Reports servers that were evacuated from a host that has not cleaned up since: they still have allocations on it. */
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
          `${explainedBy.status}) and still has allocations on ${index.name(root)}`,
        remedies: isUp ? [] : [{ kind: "drop" as const, consumer: server.id, providers }],
        left: isUp
          ? `host ${host} is up, and may still have the guest: restart its nova-compute, which cleans up`
          : null,
      };
    }),
  );
}

/**
 * Reports guests of hypervisors that no record explains: their server is on another host and no move explains them, or
 * no server has their uuid. Empty if the guests were not read. No API removes a guest, so there is never an edit.
 */
export function leftGuests(index: SnapshotIndex): Finding[] {
  return [...index.snapshot.guests].flatMap(([host, guests]) =>
    guests.flatMap((guest): Finding[] => {
      const server = index.snapshot.servers.get(guest.uuid);
      if (server !== undefined && (isAccountedFor(index, server, host) || !index.isAtRest(server))) {
        return [];
      }
      const subject: Subject = server ? serverSubject(server) : { kind: "guest", uuid: guest.uuid, name: guest.name };
      return [
        {
          code: server ? "stale-guest" : "guest-without-server",
          subject,
          provider: providerOf(index, host),
          explanation: server
            ? `the server is on ${server.host === null ? "no host" : `host ${server.host}`}, and host ${host} has a guest of it (${guest.state}) that no move explains`
            : `host ${host} has guest ${guest.name} (${guest.state}), and no server has its uuid`,
          remedies: [],
          left: server ? adviceFor(index, server, host) : adviceWithoutServer(host),
        },
      ];
    }),
  );
}

/**
 * Returns whether the server may have a guest on the host. A move in progress, and an evacuation whose source has not
 * cleaned up, have a guest on both hosts.
 */
function isAccountedFor(index: SnapshotIndex, server: Server, host: string): boolean {
  const explains = (move: Migration) =>
    (!hasEnded(move) && !index.isAbandoned(move, server) && [move.sourceHost, move.destHost].includes(host)) ||
    (move.type === "evacuation" && move.status === "done" && move.sourceHost === host);
  return server.host === host || index.movesOf(server).some(explains);
}

/** Returns advice instead of a remedy, since the guest may be the only copy of the server's disk. */
function adviceFor(index: SnapshotIndex, server: Server, host: string): string {
  const isSource = index
    .movesOf(server)
    .some(({ type, sourceHost }) => sourceHost === host && (type === "resize" || type === "migration"));
  return isSource
    ? `a resize or a cold migration left it: evacuating the server from its destination, or deleting the server, removes it from ${host}`
    : `find out what started it before you remove it on the hypervisor of ${host}; deleting the server removes it as well`;
}

function adviceWithoutServer(host: string): string {
  return `nova-compute on ${host} removes guests of deleted servers by itself (running_deleted_instance_action); any other guest is not Nova's`;
}

function providerOf(index: SnapshotIndex, host: string): Finding["provider"] {
  const node = index.snapshot.hypervisors.find((each) => each.host === host);
  return node ? reference(index, node.uuid) : { uuid: host, name: host };
}
