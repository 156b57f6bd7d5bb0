import type { Sql } from "./sql.js";

/** `[DEFAULT] default_availability_zone` */
export const DEFAULT_ZONE = "nova";

/** The availability zone of a compute host: that of an aggregate it is in, or the default one. */
export function availabilityZoneOf(sql: Sql, host: string): string {
  const [zone] = sql.get(`SELECT ${zoneOf("?")}`, host) ?? [];
  return String(zone);
}

/** Writes the zones of these hosts into their services. @returns the ids of the services whose zone is another now */
export function refreshZones(sql: Sql, hosts: readonly string[]): number[] {
  const changed = sql.all(
    // In the order of the hosts.
    `SELECT id, zone FROM (
       SELECT services.id, availability_zone, ${zoneOf("services.host")} AS zone
       FROM json_each(?) AS hosts CROSS JOIN services ON services.host = hosts.value
       WHERE binary = 'nova-compute' AND deleted = 0
     ) WHERE availability_zone <> zone`,
    JSON.stringify(hosts),
  );
  for (const [id = 0, zone = ""] of changed) {
    sql.execute("UPDATE services SET availability_zone = ? WHERE id = ?", zone, id);
  }
  return changed.map(([id]) => Number(id));
}

function zoneOf(host: string): string {
  return `coalesce((
    SELECT metadata.value FROM aggregate_metadata AS metadata JOIN aggregate_hosts AS members USING (aggregate_id)
    WHERE members.host = ${host} AND metadata.key = 'availability_zone' ORDER BY aggregate_id LIMIT 1
  ), '${DEFAULT_ZONE}')`;
}
