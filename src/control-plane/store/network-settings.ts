import type { StoreContext } from "./store-context.js";

/** Table `network_tags`: the tags of networks, subnets, ports and security groups. */
export function createNetworkTagTable({ sql }: StoreContext) {
  return {
    of: (uuid: string): readonly string[] =>
      sql.strings("SELECT tag FROM network_tags WHERE resource_uuid = ? ORDER BY rowid", uuid),
    add,
    replace: (uuid: string, tags: readonly string[]): void =>
      sql.transaction(() => {
        sql.execute("DELETE FROM network_tags WHERE resource_uuid = ?", uuid);
        for (const tag of tags) {
          add(uuid, tag);
        }
      }),
    remove: (uuid: string, tag: string): void =>
      sql.execute("DELETE FROM network_tags WHERE resource_uuid = ? AND tag = ?", uuid, tag),
  };

  function add(uuid: string, tag: string): void {
    sql.execute("INSERT OR IGNORE INTO network_tags VALUES (?, ?)", uuid, tag);
  }
}

/** Table `network_quotas`: explicitly set limits of projects; -1: no limit. */
export function createNetworkQuotaTable({ sql }: StoreContext) {
  return {
    limits(projectId: string): Readonly<Record<string, number>> {
      const rows = sql.all("SELECT resource, hard_limit FROM network_quotas WHERE project_id = ?", projectId);
      return Object.fromEntries(rows.map(([resource, limit]) => [String(resource), Number(limit)]));
    },
    projects: (): readonly string[] =>
      sql.strings("SELECT DISTINCT project_id FROM network_quotas ORDER BY project_id"),
    set: (projectId: string, resource: string, limit: number): void =>
      sql.execute(
        `INSERT INTO network_quotas VALUES (?, ?, ?)
          ON CONFLICT (project_id, resource) DO UPDATE SET hard_limit = excluded.hard_limit`,
        projectId,
        resource,
        limit,
      ),
    remove: (projectId: string): void => sql.execute("DELETE FROM network_quotas WHERE project_id = ?", projectId),
  };
}

/** The only subnet; its size allows a million ports. Addresses are stored as numbers and formatted only for output. */
export const FLAT_SUBNET = {
  cidr: "10.0.0.0/12",
  first: "10.0.0.2",
  last: "10.15.255.254",
  gateway: "10.0.0.1",
} as const;

/** The allocation pool: the addresses that servers can get. */
export const POOL = { first: numberOf(FLAT_SUBNET.first), last: numberOf(FLAT_SUBNET.last) } as const;

export function isInPool(address: number): boolean {
  return address >= POOL.first && address <= POOL.last;
}

/** Returns undefined if the string is not an IPv4 address. */
export function addressOf(text: string): number | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)?.slice(1).map(Number);
  return parts?.every((part) => part < 256) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined;
}

export function addressText(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join(".");
}

/**
 * Derives a MAC address. It is unique in the subnet, because multiplying 24 bits by an odd factor only permutes them.
 */
export function macOf(address: number): string {
  const shuffled = Math.imul(address, 0x9e3779) & 0xff_ff_ff;
  return `fa:16:3e:${[16, 8, 0].map((shift) => ((shuffled >>> shift) & 255).toString(16).padStart(2, "0")).join(":")}`;
}

function numberOf(text: string): number {
  return addressOf(text) ?? 0;
}
