import type { Sql } from "../../database/sql.js";
import { addressKey, fromKey, type IpAddress } from "../ip/addresses.js";
import { FreeAddresses } from "../ip/free-addresses.js";
import type { IpRange } from "../ip/ranges.js";

/** An address that the open transaction has allocated or released. */
interface ChangedAddress {
  readonly subnetId: string;
  readonly address: IpAddress;
}

/**
 * The free addresses of all subnets, in memory. A subnet is loaded from the table of allocations when an address is
 * first chosen from it. After a rollback, only the addresses that the transaction had changed are read again: a subnet
 * may have 100,000 allocations.
 */
export class AddressIndex {
  readonly #sql: Sql;
  readonly #free = new FreeAddresses();
  /** Changes of the open transaction. */
  readonly #changed = new Map<string, ChangedAddress>();
  /** Changes that were rolled back, at least in part. */
  readonly #stale = new Map<string, ChangedAddress>();
  #awaitsCommit = false;

  constructor(sql: Sql) {
    this.#sql = sql;
    sql.onUndo((isComplete) => {
      for (const [key, change] of this.#changed) {
        this.#stale.set(key, change);
      }
      if (isComplete) {
        this.#changed.clear();
      }
      // The rollback discards the action after the commit.
      this.#awaitsCommit = false;
    });
  }

  /**
   * Chooses a free address of a subnet's pools; undefined if there is none.
   * @param readPools called if the subnet is not loaded
   */
  next(subnetId: string, readPools: () => readonly IpRange[]): bigint | undefined {
    this.#synchronize();
    if (!this.#free.has(subnetId)) {
      const keys = this.#sql.strings("SELECT address_key FROM network_ip_allocations WHERE subnet_id = ?", subnetId);
      this.#free.load(
        subnetId,
        readPools(),
        keys.map((key) => fromKey(key).value),
      );
    }
    return this.#free.next(subnetId);
  }

  take(subnetId: string, address: IpAddress): void {
    this.#synchronize();
    this.#remember({ subnetId, address });
    this.#free.take(subnetId, address.value);
  }

  release(subnetId: string, address: IpAddress): void {
    this.#synchronize();
    this.#remember({ subnetId, address });
    this.#free.release(subnetId, address.value);
  }

  /** Drops what is known about a subnet, whose pools or allocations have changed. */
  forget(subnetId: string): void {
    this.#free.forget(subnetId);
  }

  /** Drops everything about a deleted subnet. */
  delete(subnetId: string): void {
    this.#free.delete(subnetId);
  }

  #remember(change: ChangedAddress): void {
    this.#changed.set(`${change.subnetId} ${addressKey(change.address)}`, change);
    if (!this.#awaitsCommit) {
      this.#awaitsCommit = true;
      this.#sql.afterCommit(() => {
        this.#awaitsCommit = false;
        this.#changed.clear();
      });
    }
  }

  /** Reads addresses again whose change was rolled back. */
  #synchronize(): void {
    if (this.#stale.size === 0) {
      return;
    }
    for (const { subnetId, address } of this.#stale.values()) {
      const isAllocated = this.#sql.get(
        "SELECT 1 FROM network_ip_allocations WHERE subnet_id = ? AND address_key = ?",
        subnetId,
        addressKey(address),
      );
      if (isAllocated) {
        this.#free.take(subnetId, address.value);
      } else {
        this.#free.release(subnetId, address.value);
      }
    }
    this.#stale.clear();
  }
}
