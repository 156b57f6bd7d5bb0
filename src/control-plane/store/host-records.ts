import { ConductorError } from "../../conductor-client/errors.js";
import { id, nullable, oneOf, text, time, uuid } from "../../records/field.js";
import { checkOf } from "./record-fields.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

export interface HostLease {
  readonly host: string;
  /** Identifies one run of an agent process. */
  readonly bootId: string;
  readonly pid: number;
  /** See `Processes.machine`. */
  readonly machine: string;
  readonly acquiredAt: number;
  /** When the control plane last received a message from the lease's owner, ms; exact if the connection has ended. */
  readonly renewedAt: number;
}

const LEASES = tableOf("host_leases", {
  host: text(),
  bootId: text(),
  pid: id,
  machine: text(),
  acquiredAt: time,
  renewedAt: time,
});

/**
 * Tables `host_leases` and `host_epochs` (spec 2.4 G6). Persistent, so that a restarted control plane does not release
 * a host too early.
 */
export function createLeaseTables({ sql, clock }: StoreContext) {
  const table = new Table(sql, LEASES);

  return {
    get: (host: string): HostLease | null => table.one("host = ?", host),
    list: (): HostLease[] => table.many("1 ORDER BY host"),
    /** Assigns the host to a new owner; replaces any former lease. */
    put: (lease: HostLease): void =>
      sql.transaction(() => {
        sql.execute("DELETE FROM host_leases WHERE host = ?", lease.host);
        table.insert(lease);
      }),
    epoch,
    /**
     * Returns the epoch of the next owner. It is greater than all epochs of this database, and of a lost or older one.
     */
    nextEpoch: (host: string): number =>
      sql.transaction(() => {
        // Hypervisors outlive the database: a new database must not start at 1 again.
        const next = Math.max(epoch(host) + 1, Math.floor(clock.now()));
        const text = "INSERT INTO host_epochs (host, epoch) VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET epoch = ?";
        sql.execute(text, host, next, next);
        return next;
      }),
    /** Returns false if that boot does not own the host. */
    remove: (host: string, bootId: string): boolean =>
      sql.run("DELETE FROM host_leases WHERE host = ? AND boot_id = ?", host, bootId).changes > 0,
  };

  /** Returns the epoch of the current or last owner; 0 before the first. */
  function epoch(host: string): number {
    return sql.number("SELECT epoch FROM host_epochs WHERE host = ?", host);
  }
}

type Cell = "cell0" | "cell1" | null;

const anyUuid = checkOf(uuid);

const anyText = checkOf(text());

const anyCell = checkOf(nullable(oneOf(["cell0", "cell1"])));

/**
 * Tables `instance_mappings` and `host_mappings`: the cell of an instance or host; null until it is mapped. A host is
 * mapped when it gets a compute node.
 */
export function createMappingTables({ sql }: StoreContext) {
  return {
    mapInstance(instanceUuid: string, projectId: string, cell: Cell): void {
      anyUuid(instanceUuid, "instanceUuid");
      anyText(projectId, "projectId");
      anyCell(cell, "cell");
      sql.execute(
        `INSERT INTO instance_mappings (instance_uuid, project_id, cell) VALUES (?, ?, ?)
          ON CONFLICT (instance_uuid) DO UPDATE SET project_id = excluded.project_id, cell = excluded.cell`,
        instanceUuid,
        projectId,
        cell,
      );
    },
    instance(instanceUuid: string): { readonly cell: Cell; readonly queuedForDelete: boolean } | null {
      const row = sql.get(
        "SELECT cell, queued_for_delete FROM instance_mappings WHERE instance_uuid = ?",
        instanceUuid,
      );
      return row ? { cell: (row[0] ?? null) as Cell, queuedForDelete: row[1] === 1 } : null;
    },
    queueForDelete(instanceUuid: string): void {
      const { changes } = sql.run(
        "UPDATE instance_mappings SET queued_for_delete = 1 WHERE instance_uuid = ?",
        instanceUuid,
      );
      if (changes === 0) {
        throw new ConductorError("InstanceNotFound", `instance ${instanceUuid} is not mapped to a cell`, {
          uuid: instanceUuid,
        });
      }
    },
    host: (host: string): boolean => sql.get("SELECT 1 FROM host_mappings WHERE host = ?", host) !== undefined,
    unmapHost: (host: string): void => sql.execute("DELETE FROM host_mappings WHERE host = ?", host),
  };
}
