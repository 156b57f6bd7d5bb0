import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import { id, mapOf, nullable, text, time, uuid } from "../../records/field.js";
import { checkOf } from "./record-fields.js";
import { refreshZones } from "./services.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

/** A group of hosts with metadata. */
export interface Aggregate {
  readonly id: number;
  /** Also the uuid of its mirror in Placement. */
  readonly uuid: string;
  readonly name: string;
  /** In the order in which they were added. */
  readonly hosts: readonly string[];
  /** `availability_zone` is one of the keys. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

export interface AggregateChanges {
  readonly name?: string;
  readonly metadata?: Readonly<Record<string, string | null>>;
}

type Row = Omit<Aggregate, "hosts" | "metadata">;

const AGGREGATES = tableOf("aggregates", { id, uuid, name: text(), createdAt: time, updatedAt: nullable(time) });
const anyText = checkOf(text());
const metadataShape = checkOf(mapOf(nullable(text())));

/**
 * Tables `aggregates`, `aggregate_hosts` and `aggregate_metadata`; rows are deleted permanently.
 * Each change also updates the availability zones of the hosts' nova-compute services (`Service.availabilityZone`), in
 * the same transaction.
 */
export function createAggregateTables({ sql, clock, random, changes }: StoreContext) {
  const table = new Table(sql, AGGREGATES);

  return {
    get,
    /** Returns all aggregates by id. */
    list: (): Aggregate[] => table.many("1 ORDER BY id").map((row) => complete(row)),
    /** Returns the aggregates of a host by id. */
    byHost(host: string): Aggregate[] {
      const rows = table.many("id IN (SELECT aggregate_id FROM aggregate_hosts WHERE host = ?) ORDER BY id", host);
      return rows.map((row) => complete(row));
    },
    /** @throws AggregateNameExists */
    create: ({ name, metadata }: Pick<Aggregate, "name" | "metadata">): Aggregate =>
      sql.transaction(() => {
        const id = named(name, () => table.insert({ uuid: random.uuid(), name, createdAt: clock.now() }));
        writeMetadata(id, metadata);
        return changed(id);
      }),
    /**
     * Sets the keys of `metadata`; a value of null removes its key. Changes of metadata and hosts do not set
     * `updated_at`, as they have their own tables.
     * @throws AggregateNotFound, AggregateNameExists
     */
    update: (id: number, { name, metadata = {} }: AggregateChanges): Aggregate =>
      sql.transaction(() => {
        const { hosts } = existing(id);
        if (name !== undefined) {
          named(name, () => table.update(id, { name, updatedAt: clock.now() }));
        }
        writeMetadata(id, metadata);
        return changed(id, hosts);
      }),
    /** @throws AggregateNotFound, AggregateHostExists */
    addHost(id: number, host: string): Aggregate {
      anyText(host, "host");
      return sql.transaction(() => {
        if (existing(id).hosts.includes(host)) {
          throw new ConductorError("AggregateHostExists", `Aggregate ${id} already has host ${host}.`, { id, host });
        }
        sql.execute("INSERT INTO aggregate_hosts (aggregate_id, host) VALUES (?, ?)", id, host);
        return changed(id, [host]);
      });
    },
    /** @throws AggregateNotFound, AggregateHostNotFound */
    removeHost: (id: number, host: string): Aggregate =>
      sql.transaction(() => {
        existing(id);
        const { changes } = sql.run("DELETE FROM aggregate_hosts WHERE aggregate_id = ? AND host = ?", id, host);
        if (changes === 0) {
          throw new ConductorError("AggregateHostNotFound", `Aggregate ${id} has no host ${host}.`, { id, host });
        }
        return changed(id, [host]);
      }),
    /**
     * Adds and removes many hosts; each list contains a host once. The hosts need not exist yet.
     * @throws AggregateNotFound
     */
    changeHosts: (
      id: number,
      { joined, left }: { readonly joined: readonly string[]; readonly left: readonly string[] },
    ) =>
      sql.transaction(() => {
        const gone = "host IN (SELECT value FROM json_each(?))";
        sql.execute(`DELETE FROM aggregate_hosts WHERE aggregate_id = ? AND ${gone}`, id, JSON.stringify(left));
        for (const host of joined) {
          anyText(host, "host");
        }
        const added = "SELECT ?, value FROM json_each(?)";
        sql.execute(`INSERT INTO aggregate_hosts (aggregate_id, host) ${added}`, id, JSON.stringify(joined));
        changed(id, [...left, ...joined]);
      }),
    /** @throws AggregateNotFound */
    destroy: (id: number): void =>
      sql.transaction(() => {
        const { hosts } = existing(id);
        sql.execute("DELETE FROM aggregates WHERE id = ?", id);
        zonesChanged(hosts);
        changes.changed("aggregate", id);
      }),
  };

  function get(id: number): Aggregate | null {
    const row = table.one("id = ?", id);
    return row && complete(row);
  }

  function changed(id: number, hosts: readonly string[] = []): Aggregate {
    zonesChanged(hosts);
    changes.changed("aggregate", id);
    return existing(id);
  }

  function zonesChanged(hosts: readonly string[]): void {
    for (const service of refreshZones(sql, hosts)) {
      changes.changed("service", service);
    }
  }

  function writeMetadata(id: number, metadata: AggregateChanges["metadata"] & object): void {
    metadataShape(metadata, "metadata");
    for (const [key, value] of Object.entries(metadata)) {
      sql.execute("DELETE FROM aggregate_metadata WHERE aggregate_id = ? AND key = ?", id, key);
      if (value !== null) {
        sql.execute("INSERT INTO aggregate_metadata VALUES (?, ?, ?)", id, key, value);
      }
    }
  }

  function complete(row: Row): Aggregate {
    const metadata = sql.all("SELECT key, value FROM aggregate_metadata WHERE aggregate_id = ? ORDER BY key", row.id);
    return {
      ...row,
      hosts: sql.strings("SELECT host FROM aggregate_hosts WHERE aggregate_id = ? ORDER BY id", row.id),
      metadata: Object.fromEntries(metadata.map(([key, value]) => [String(key), String(value)])),
    };
  }

  function existing(id: number): Aggregate {
    const aggregate = get(id);
    if (!aggregate) {
      throw new ConductorError("AggregateNotFound", `Aggregate ${id} could not be found.`, { id });
    }
    return aggregate;
  }

  function named<T>(name: string, write: () => T): T {
    try {
      return write();
    } catch (error) {
      if (!isConductorError(error, "DuplicateRecord")) {
        throw error;
      }
      throw new ConductorError("AggregateNameExists", `Aggregate ${name} already exists.`, { name });
    }
  }
}
