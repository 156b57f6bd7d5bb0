import { hasEnded, type Migration, type Server } from "../read/records.js";
import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { migrationSubject, reference, serverSubject } from "./subjects.js";
import type { Whereabouts } from "./whereabouts.js";

/** Migrations that have ended and still hold something, and migrations that nothing drives any more. */
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

/** Spec 9.3. @param creditor the server on whose node it holds what the server lacks */
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
  const whose = server ? `of server ${server.name}` : "of a server that is gone";
  const end = abandoned
    ? `waits for a confirmation (${status}), which the server does not accept since it was reset to ${server.vmState},`
    : `has ended (${status})`;
  return [
    {
      code: "unfinished-migration",
      subject: migrationSubject(uuid, migration),
      provider: reference(index, index.rootOf(first)),
      explanation: creditor
        ? `${type} ${id} ${whose} ${end} and still holds what the server needs on ${index.name(first)}`
        : `${type} ${id} ${whose} ${end} and still holds resources of ${index.name(first)}`,
      remedies: [
        creditor ? { kind: "take-over", consumer: creditor.id, from: uuid } : { kind: "clear", consumer: uuid },
      ],
      left: null,
    },
  ];
}

/** The state of record says that it is under way, and the server says that nothing is. */
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
      explanation: `${type} ${id} of server ${server.name} is ${status}, and nothing has been done about it for minutes`,
      remedies: [],
      left: `restart nova-compute on ${migration.sourceHost}${migration.destHost === null ? "" : ` and ${migration.destHost}`}, and look again`,
    },
  ];
}
