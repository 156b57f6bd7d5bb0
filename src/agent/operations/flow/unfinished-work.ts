import { SparseMap, SparseSet } from "../../../runtime/collections.js";

/** Moves that are over but not settled, or that this process could not complete. */
export class UnsettledMoves {
  #since: number | null = null;
  readonly #failed = new SparseSet<number>();

  /** When a confirmation last ended without a response, so that its move may be unsettled, in ms. Null: never. */
  get since(): number | null {
    return this.#since;
  }

  /** True if a failed recovery is to be repeated. */
  get any(): boolean {
    return this.#failed.size > 0;
  }

  note(now: number): void {
    this.#since = now;
  }

  /** Everything until then was checked. */
  checkedUntil(before: number): void {
    if (this.#since !== null && this.#since <= before) {
      this.#since = null;
    }
  }

  /** The recovery of this migration has begun to write: no other process works on it. */
  failed(migrationId: number): void {
    this.#failed.add(migrationId);
  }

  hasFailed(migrationId: number): boolean {
    return this.#failed.has(migrationId);
  }

  ended(migrationId: number): void {
    this.#failed.delete(migrationId);
  }

  /** Forgets the others: they have ended in the meantime. */
  stillStuck(migrationIds: ReadonlySet<number>): void {
    for (const id of this.#failed) {
      if (!migrationIds.has(id)) {
        this.#failed.delete(id);
      }
    }
  }
}

/**
 * Moves that this host has accepted as their destination, and that have neither arrived nor been aborted. Live
 * migrations count from their pre-step to their post-step or rollback, cold moves from their preparation to the end of
 * their finish (spec 2.8).
 */
export class IncomingMoves {
  /** Migration id → instance. */
  readonly #open = new SparseMap<number, string>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  /** The ids of their migrations. */
  get migrations(): readonly number[] {
    return [...this.#open.keys()];
  }

  /** Returns whether the instance is on its way to this host. */
  has(instanceUuid: string): boolean {
    return [...this.#open.values()].includes(instanceUuid);
  }

  begin(migrationId: number, instanceUuid: string): void {
    this.#open.set(migrationId, instanceUuid);
  }

  /** Does nothing for an unknown migration. */
  end(migrationId: number): void {
    this.#open.delete(migrationId);
    if (this.#open.size > 0) {
      return;
    }
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) {
      resolve();
    }
  }

  /** Resolves when no incoming move remains. */
  async idle(): Promise<void> {
    if (this.#open.size === 0) {
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

/** Removes the leftovers of one guest, under the lock of its instance. */
type RemoveGuest = () => Promise<void>;

interface LeftGuest {
  readonly instanceUuid: string;
  /** True if an evacuation to this host left it: the next evacuation must not find it. */
  readonly evacuated: boolean;
  readonly remove: RemoveGuest;
}

/**
 * Guests that operations of this process created or had to remove, and could not remove when they failed: the driver's
 * error does not show whether they exist. The list is lost with the process: for most of them the records determine the
 * action of a start, which also searches for leftovers of live migrations.
 */
export class LeftGuests {
  readonly #left = new SparseSet<LeftGuest>();

  get all(): readonly LeftGuest[] {
    return [...this.#left];
  }

  /** @param remove first checks that the guest is still unused; throws if it could not be removed */
  add(instanceUuid: string, remove: RemoveGuest, { evacuated = false } = {}): void {
    this.#left.add({ instanceUuid, evacuated, remove });
  }

  /** Removes leftovers of earlier evacuations of the instance to here. The caller has the instance's lock. */
  async settleEvacuated(instanceUuid: string): Promise<void> {
    for (const left of this.all) {
      if (left.evacuated && left.instanceUuid === instanceUuid) {
        await left.remove();
        this.forget(left);
      }
    }
  }

  /** Called when the guest is gone or in use. */
  forget(left: LeftGuest): void {
    this.#left.delete(left);
  }
}

/** A request whose operation ended here without all responses of the conductor, or without the host's lease. */
export interface InterruptedRequest {
  readonly instanceUuid: string;
  readonly requestId: string;
}

/**
 * Requests that left their instances as after a crash while the agent was running. The conductor was unreachable for
 * longer than a call's timeout or the host's lease. The list is lost with the process: the next start finds the
 * leftovers by itself.
 */
export class InterruptedRequests {
  /** Instance → its last request. */
  readonly #requests = new SparseMap<string, InterruptedRequest>();

  get all(): readonly InterruptedRequest[] {
    return [...this.#requests.values()];
  }

  add(request: InterruptedRequest): void {
    this.#requests.set(request.instanceUuid, request);
  }

  /** Called when the leftovers are settled, or belong to another request. */
  remove(request: InterruptedRequest): void {
    if (this.#requests.get(request.instanceUuid) === request) {
      this.#requests.delete(request.instanceUuid);
    }
  }
}
