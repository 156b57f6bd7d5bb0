import { hasEnded, type Migration, type Server } from "../read/records.js";
import type { Finding, Subject } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { reference, serverSubject } from "./subjects.js";

/**
 * Guests of hypervisors that no record accounts for: their server is on another host and no move explains them, or no server has
 * their uuid. Empty where the guests were not read. No API removes a guest, so there is never an edit.
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

/** A move under way, and an evacuation whose source has not cleaned up, have a guest on each of their hosts. */
function isAccountedFor(index: SnapshotIndex, server: Server, host: string): boolean {
  const explains = (move: Migration) =>
    (!hasEnded(move) && !index.isAbandoned(move, server) && [move.sourceHost, move.destHost].includes(host)) ||
    (move.type === "evacuation" && move.status === "done" && move.sourceHost === host);
  return server.host === host || index.movesOf(server).some(explains);
}

/** The guest may be the only copy of the server's disk. */
function adviceFor(index: SnapshotIndex, server: Server, host: string): string {
  const isSource = index
    .movesOf(server)
    .some(({ type, sourceHost }) => sourceHost === host && (type === "resize" || type === "migration"));
  return isSource
    ? `a resize or a cold migration has left it: an evacuation of the server from its destination, or a delete, removes it from ${host}`
    : `find out what started it before you remove it on the hypervisor of ${host}; a delete of the server removes it, too`;
}

function adviceWithoutServer(host: string): string {
  return `nova-compute on ${host} removes guests of deleted servers by itself (running_deleted_instance_action); any other guest is not Nova's`;
}

function providerOf(index: SnapshotIndex, host: string): Finding["provider"] {
  const node = index.snapshot.hypervisors.find((each) => each.host === host);
  return node ? reference(index, node.uuid) : { uuid: host, name: host };
}
