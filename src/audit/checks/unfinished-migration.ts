import { hasEnded, type Migration, type Server } from "../read/records.js";
import type { Finding } from "./finding.js";
import type { Facts } from "./inputs.js";
import { migrationSubject, reference, serverSubject } from "./subjects.js";
import type { Whereabouts } from "./whereabouts.js";

/** Migrations that have ended and still hold something, and migrations that nothing drives any more. */
export function unfinishedMigrations(facts: Facts, placed: readonly Whereabouts[]): Finding[] {
  const owed = new Map(placed.flatMap(({ server, owedBy }) => (owedBy ? [[owedBy, server] as const] : [])));
  return facts.snapshot.migrations.flatMap((migration) => {
    const server = facts.snapshot.servers.get(migration.server);
    if (server) {
      return [...leaked(facts, migration, server, owed.get(migration)), ...stuck(facts, migration, server)];
    }
    return hasEnded(migration) ? leaked(facts, migration, undefined, undefined) : [];
  });
}

/** Spec 9.3. @param creditor the server on whose node it holds what the server lacks */
function leaked(
  facts: Facts,
  migration: Migration,
  server: Server | undefined,
  creditor: Server | undefined,
): Finding[] {
  const { uuid, id, type, status } = migration;
  const [first] = uuid === null ? [] : Object.keys(facts.heldBy(uuid));
  const abandoned = server !== undefined && facts.isAbandoned(migration, server);
  const isOver = hasEnded(migration) || abandoned;
  if (uuid === null || first === undefined || !isOver || (server && !facts.isAtRest(server))) {
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
      provider: reference(facts, facts.rootOf(first)),
      explanation: creditor
        ? `${type} ${id} ${whose} ${end} and still holds what the server needs on ${facts.name(first)}`
        : `${type} ${id} ${whose} ${end} and still holds resources of ${facts.name(first)}`,
      remedies: [
        creditor ? { kind: "take-over", consumer: creditor.id, from: uuid } : { kind: "clear", consumer: uuid },
      ],
      left: null,
    },
  ];
}

/** The state of record says that it is under way, and the server says that nothing is. */
function stuck(facts: Facts, migration: Migration, server: Server): Finding[] {
  const { id, type, status, changedAt } = migration;
  const rests = server.taskState === null && server.status !== "UNKNOWN" && server.vmState !== "building";
  if (
    hasEnded(migration) ||
    !rests ||
    facts.unconfirmed(server) === migration ||
    facts.isAbandoned(migration, server)
  ) {
    return [];
  }
  if (facts.snapshot.now - changedAt <= facts.patience.stuck) {
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
