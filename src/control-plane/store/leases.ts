import { id, text, time } from "../../records/field.js";
import type { StoreContext } from "./store-context.js";
import { Table, tableOf } from "./table.js";

export interface HostLease {
  readonly host: string;
  /** One life of one agent process. */
  readonly bootId: string;
  readonly pid: number;
  /** See `Processes.machine`. */
  readonly machine: string;
  readonly acquiredAt: number;
  /** When the control plane last heard of the holder, ms; exact when the connection has ended. */
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

/** Tables `host_leases` and `host_epochs` (spec 2.4 G6). Kept so that a restart of the control plane gives no host away early. */
export class Leases {
  readonly #context: StoreContext;
  readonly #table: Table<HostLease>;

  constructor(context: StoreContext) {
    this.#context = context;
    this.#table = new Table(context.sql, LEASES);
  }

  get(host: string): HostLease | null {
    return this.#table.one("host = ?", host);
  }

  list(): HostLease[] {
    return this.#table.many("1 ORDER BY host");
  }

  /** Gives the host to this holder, whoever had it. */
  put(lease: HostLease): void {
    const { sql } = this.#context;
    sql.transaction(() => {
      sql.execute("DELETE FROM host_leases WHERE host = ?", lease.host);
      this.#table.insert(lease);
    });
  }

  /** The epoch of the present holder, or the last one; 0 before the first. */
  epoch(host: string): number {
    const [epoch] = this.#context.sql.get("SELECT epoch FROM host_epochs WHERE host = ?", host) ?? [];
    return Number(epoch ?? 0);
  }

  /** For the next holder: greater than any before, also than those that a lost or older state of record gave. */
  nextEpoch(host: string): number {
    const { sql, clock } = this.#context;
    return sql.transaction(() => {
      // Hypervisors outlive the state of record: one that is made anew must not count from 1 again.
      const epoch = Math.max(this.epoch(host) + 1, Math.floor(clock.now()));
      sql.execute(
        "INSERT INTO host_epochs (host, epoch) VALUES (?, ?) ON CONFLICT (host) DO UPDATE SET epoch = ?",
        host,
        epoch,
        epoch,
      );
      return epoch;
    });
  }

  /** False when that boot did not hold it. */
  remove(host: string, bootId: string): boolean {
    const { sql } = this.#context;
    return sql.run("DELETE FROM host_leases WHERE host = ? AND boot_id = ?", host, bootId).changes > 0;
  }
}
