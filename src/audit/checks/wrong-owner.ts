import type { Finding } from "./finding.js";
import type { SnapshotIndex } from "./inputs.js";
import { migrationSubject, serverSubject } from "./subjects.js";

/** A consumer whose project or user is not its server's: another project's quota pays for it. */
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
      explanation: `its allocations are on account of ${wrong.join(" and ")}`,
      remedies: [{ kind: "own" as const, consumer: record.uuid, projectId, userId }],
      left: null,
    };
  });
}
