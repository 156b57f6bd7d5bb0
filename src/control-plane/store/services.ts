import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { SERVICE, type Service } from "../../records/index.js";
import type { Sql } from "../database/sql.js";
import { Conditions } from "./conditions.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** `[DEFAULT] default_availability_zone` */
export const DEFAULT_ZONE = "nova";

const COMPUTE_BINARY = "nova-compute";

interface NewService extends Pick<Service, "host" | "binary" | "topic" | "version"> {
  readonly disabled?: boolean;
  readonly disabledReason?: string | null;
}

interface ServiceQuery {
  readonly host?: string;
  readonly binary?: string;
  /** Only those with a greater id. */
  readonly after?: number;
  readonly limit?: number;
}

type ServiceChanges = Partial<Pick<Service, "version" | "disabled" | "disabledReason" | "forcedDown">>;

const SERVICES = tableOf("services", SERVICE);

/** Table `services` (spec 1.2). */
export function createServiceTable({ sql, clock, random, changes }: StoreContext) {
  const table = new Table(sql, SERVICES);

  return {
    get,
    getByUuid: (uuid: string): Service | null => table.one("uuid = ? AND deleted = 0", uuid),
    getByHost: (host: string, binary: string): Service | null =>
      table.one("host = ? AND binary = ? AND deleted = 0", host, binary),
    /** Returns the matching services by id. */
    list({ host, binary, after, limit = Number.MAX_SAFE_INTEGER }: ServiceQuery = {}): Service[] {
      const conditions = new Conditions().add("deleted = 0").equal("host", host).equal("binary", binary);
      if (after !== undefined) {
        conditions.add("id > ?", after);
      }
      return table.many(`${conditions.sql} ORDER BY id LIMIT ?`, ...conditions.values, limit);
    },
    byHosts(hosts: readonly string[], binary: string): Service[] {
      const named = "host IN (SELECT value FROM json_each(?))";
      return table.many(`${named} AND binary = ? AND deleted = 0 ORDER BY id`, JSON.stringify(hosts), binary);
    },
    /**
     * Returns the availability zones of all services, ordered by their first service. A zone is available if one of its
     * services is enabled.
     */
    zones: (): { readonly zone: string; readonly available: boolean }[] =>
      sql
        .all(
          `SELECT availability_zone, min(disabled) FROM services
            WHERE deleted = 0 GROUP BY availability_zone ORDER BY min(id)`,
        )
        .map(([zone, disabled]) => ({ zone: String(zone), available: disabled === 0 })),
    /** Checks whether any compute host is in this availability zone. */
    isComputeZone(zone: string): boolean {
      const query = "SELECT 1 FROM services WHERE binary = ? AND deleted = 0 AND availability_zone = ? LIMIT 1";
      return sql.get(query, COMPUTE_BINARY, zone) !== undefined;
    },
    create: (service: NewService): Service =>
      sql.transaction(() => {
        assertNotTooOld(service.binary, service.version);
        const { disabled = false, disabledReason = null, ...identity } = service;
        const id = insert({
          ...identity,
          uuid: random.uuid(),
          reportCount: 0,
          disabled,
          disabledReason,
          forcedDown: false,
          availabilityZone: service.binary === COMPUTE_BINARY ? availabilityZoneOf(sql, service.host) : "internal",
          createdAt: clock.now(),
        });
        changes.changed("service", id);
        return existing(id);
      }),
    update,
    disable: (id: number, disabledReason: string): Service =>
      sql.transaction(() => {
        const service = existing(id);
        return service.disabled ? service : update(id, { disabled: true, disabledReason });
      }),
    /** @throws {ServiceNotFound} */
    reportState(id: number): void {
      if (reportStates([id]).has(id)) {
        throw serviceNotFound(id);
      }
    },
    reportStates,
    /**
     * Returns the columns that determine whether each service of a binary is up, and whether the scheduler may use it.
     */
    states: (binary: string): Pick<Service, "host" | "disabled" | "forcedDown" | "lastSeenUp" | "createdAt">[] =>
      sql
        .all(
          "SELECT host, disabled, forced_down, last_seen_up, created_at FROM services WHERE binary = ? AND deleted = 0",
          binary,
        )
        .map(([host, disabled, forcedDown, lastSeenUp, createdAt]) => ({
          host: String(host),
          disabled: disabled === 1,
          forcedDown: forcedDown === 1,
          lastSeenUp: lastSeenUp === null ? null : Number(lastSeenUp),
          createdAt: Number(createdAt),
        })),
    minimumVersion,
    /**
     * Soft-deletes the service; for nova-compute also its compute nodes (by service id or host), with mapped = 0 (spec
     * 7.1 step 8).
     */
    destroy: (id: number): void =>
      sql.transaction(() => {
        const { binary, host } = existing(id);
        const now = clock.now();
        sql.execute("UPDATE services SET deleted = id, deleted_at = ? WHERE id = ?", now, id);
        changes.changed("service", id);
        if (binary !== COMPUTE_BINARY) {
          return;
        }
        const nodes = sql.all(
          "SELECT id FROM compute_nodes WHERE deleted = 0 AND (service_id = ? OR host = ?)",
          id,
          host,
        );
        for (const [node = null] of nodes) {
          sql.execute("UPDATE compute_nodes SET deleted = id, deleted_at = ?, mapped = 0 WHERE id = ?", now, node);
          changes.changed("compute_node", Number(node));
        }
      }),
  };

  function get(id: number): Service | null {
    return table.one("id = ? AND deleted = 0", id);
  }

  function update(id: number, values: ServiceChanges): Service {
    return sql.transaction(() => {
      const { binary } = existing(id);
      if (values.version !== undefined) {
        assertNotTooOld(binary, values.version);
      }
      table.update(id, { ...values, updatedAt: clock.now() });
      changes.changed("service", id);
      return existing(id);
    });
  }

  /**
   * Records a heartbeat of each service.
   * @returns the ids that do not exist
   */
  function reportStates(ids: readonly number[]): ReadonlySet<number> {
    return sql.transaction(() => {
      const now = clock.now();
      const beat = "report_count = report_count + 1, last_seen_up = ?, updated_at = ?";
      const named = "id IN (SELECT value FROM json_each(?)) AND deleted = 0";
      const list = JSON.stringify(ids);
      const beaten = sql.run(`UPDATE services SET ${beat} WHERE ${named}`, now, now, list);
      const missing = new Set(ids);
      if (beaten.changes === missing.size) {
        missing.clear();
      } else {
        for (const [id] of sql.all(`SELECT id FROM services WHERE ${named}`, list)) {
          missing.delete(Number(id));
        }
      }
      for (const id of ids) {
        if (!missing.has(id)) {
          changes.heartbeatReceived(id, now);
        }
      }
      return missing;
    });
  }

  function minimumVersion(binary: string): number {
    return sql.number("SELECT min(version) FROM services WHERE binary = ? AND deleted = 0", binary);
  }

  function insert(values: Partial<Service>): number {
    try {
      return table.insert(values);
    } catch (error) {
      if (isConductorError(error, "DuplicateRecord")) {
        throw new ConductorError(
          "ServiceBinaryExists",
          `service ${values.binary} (topic ${values.topic}) of host ${values.host} exists already; read it and continue with it`,
          { host: values.host, binary: values.binary },
        );
      }
      throw error;
    }
  }

  function existing(id: number): Service {
    const service = get(id);
    if (!service) {
      throw serviceNotFound(id);
    }
    return service;
  }

  function assertNotTooOld(binary: string, version: number): void {
    const minimum = minimumVersion(binary);
    if (version < minimum) {
      throw new ConductorError(
        "ServiceTooOld",
        `this ${binary} service has version ${version}, but the oldest in the deployment has ${minimum}: ` +
          "upgrade it, or delete the newer services first",
        { thisService: version, minimum },
      );
    }
  }
}

export function serviceNotFound(id: number): ConductorError {
  return new ConductorError("ServiceNotFound", `service ${id} was not found: it never existed or was deleted`, { id });
}

/** Returns the availability zone of a compute host: that of one of its aggregates, or the default one. */
export function availabilityZoneOf(sql: Sql, host: string): string {
  const [zone] = sql.get(`SELECT ${zoneOf("?")}`, host) ?? [];
  return String(zone);
}

/**
 * Updates the availability zones of the services of these hosts.
 * @returns the ids of the services whose zone changed
 */
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
