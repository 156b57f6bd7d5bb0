import type { FindingRow } from "../../wire/audit-rows.js";
import type { GuestRow } from "../../wire/host-rows.js";
import type { ServerRow } from "../../wire/server-rows.js";

/** One server as Compute sees it, and its guest as the hypervisor does. */
export interface Pair {
  readonly uuid: string;
  readonly name: string;
  readonly server: ServerRow | null;
  readonly guest: GuestRow | null;
  /** Why the two do not go together. */
  readonly wrong: readonly FindingRow[];
}

/** What a host has, side by side; what differs comes first. */
export function pairsOf(
  servers: readonly ServerRow[],
  guests: readonly GuestRow[],
  findings: readonly FindingRow[],
): readonly Pair[] {
  const byUuid = new Map<string, { server: ServerRow | null; guest: GuestRow | null }>();
  for (const server of servers) {
    byUuid.set(server.uuid, { server, guest: null });
  }
  for (const guest of guests) {
    byUuid.set(guest.uuid, { server: byUuid.get(guest.uuid)?.server ?? null, guest });
  }
  const pairs = [...byUuid].map(([uuid, { server, guest }]) => ({
    uuid,
    name: server?.name ?? guest?.name ?? uuid,
    server,
    guest,
    wrong: findings.filter((finding) => finding.server === uuid),
  }));
  return pairs.sort((a, b) => b.wrong.length - a.wrong.length || a.name.localeCompare(b.name, "en", { numeric: true }));
}

/** Findings of the host that no line of servers or guests shows: allocations, providers, the host itself. */
export function othersOf(findings: readonly FindingRow[], pairs: readonly Pair[]): readonly FindingRow[] {
  const pairFindings = new Set(pairs.flatMap(({ wrong }) => wrong));
  return findings.filter((finding) => !pairFindings.has(finding));
}
