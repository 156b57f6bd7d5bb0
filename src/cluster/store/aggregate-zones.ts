import type { Sql } from "./sql.js";

/** `[DEFAULT] default_availability_zone` */
const DEFAULT_ZONE = "nova";

/** The availability zone of a compute host: that of an aggregate it is in, or the default one. */
export function availabilityZoneOf(sql: Sql, host: string): string {
  const [zone] =
    sql.get(
      `SELECT value FROM aggregate_metadata JOIN aggregate_hosts USING (aggregate_id)
       WHERE host = ? AND key = 'availability_zone' ORDER BY aggregate_id LIMIT 1`,
      host,
    ) ?? [];
  return zone === undefined ? DEFAULT_ZONE : String(zone);
}

/** Writes the zones of these hosts into their services. @returns the ids of the services whose zone is another now */
export function refreshZones(sql: Sql, hosts: readonly string[]): number[] {
  const changed: number[] = [];
  for (const host of hosts) {
    const zone = availabilityZoneOf(sql, host);
    const [id] =
      sql.get(
        `SELECT id FROM services
         WHERE host = ? AND binary = 'nova-compute' AND deleted = 0 AND availability_zone <> ?`,
        host,
        zone,
      ) ?? [];
    if (id === undefined) {
      continue;
    }
    sql.run("UPDATE services SET availability_zone = ? WHERE id = ?", zone, id);
    changed.push(Number(id));
  }
  return changed;
}
