import { SparseMap, SparseSet } from "../../../runtime/collections.js";

/** What this process has left of moves that are over, or that it could not bring to an end. */
export class UnsettledMoves {
  #since: number | null = null;
  readonly #failed = new SparseSet<number>();

  /**
   * When a confirmation last ended without its answer, so that its move may be `confirmed` and not over; milliseconds. Null:
   * there is none.
   */
  get since(): number | null {
    return this.#since;
  }

  /** Whether a recovery has failed that is tried again. */
  get any(): boolean {
    return this.#failed.size > 0;
  }

  note(now: number): void {
    this.#since = now;
  }

  /** Everything until then was looked at. */
  lookedAt(before: number): void {
    if (this.#since !== null && this.#since <= before) {
      this.#since = null;
    }
  }

  /** The recovery of this migration has begun to write: nobody else works on it. */
  failed(migrationId: number): void {
    this.#failed.add(migrationId);
  }

  hasFailed(migrationId: number): boolean {
    return this.#failed.has(migrationId);
  }

  ended(migrationId: number): void {
    this.#failed.delete(migrationId);
  }

  /** Others have been ended by somebody else. */
  stillStuck(migrationIds: ReadonlySet<number>): void {
    for (const id of this.#failed) {
      if (!migrationIds.has(id)) {
        this.#failed.delete(id);
      }
    }
  }
}

/**
 * Moves that this host, their destination, has accepted, and that have neither arrived nor been given up: of live migrations
 * from their pre-step to their post-step or roll-back, of cold moves from their preparation to the end of their finish (spec 2.8).
 */
export class IncomingMoves {
  /** Instances by migration. */
  readonly #open = new SparseMap<number, string>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  /** Ids of their migrations. */
  get migrations(): readonly number[] {
    return [...this.#open.keys()];
  }

  /** Whether the instance is on its way to here. */
  has(instanceUuid: string): boolean {
    return [...this.#open.values()].includes(instanceUuid);
  }

  begin(migrationId: number, instanceUuid: string): void {
    this.#open.set(migrationId, instanceUuid);
  }

  /** Nothing happens for one that is not under way. */
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

  /** Resolves when none is left. */
  async idle(): Promise<void> {
    if (this.#open.size === 0) {
      return;
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
    });
  }
}

/** Removes what is left of one guest, under the lock of its instance. */
type RemoveGuest = () => Promise<void>;

interface LeftGuest {
  readonly instanceUuid: string;
  /** An evacuation to here has left it: the next one may not find it. */
  readonly evacuated: boolean;
  readonly remove: RemoveGuest;
}

/**
 * Guests that operations of this process have made, or were to take away, and could not remove when they failed: the driver's
 * answer says nothing of whether they are there. They are forgotten with the process: of most of them the records say what a start does, and what live migrations
 * have left is looked for.
 */
export class LeftGuests {
  readonly #left = new SparseSet<LeftGuest>();

  get all(): readonly LeftGuest[] {
    return [...this.#left];
  }

  /** @param remove asks first whether the guest is still nobody's; throws when it could not be removed */
  add(instanceUuid: string, remove: RemoveGuest, { evacuated = false } = {}): void {
    this.#left.add({ instanceUuid, evacuated, remove });
  }

  /** Removes what evacuations have left of an instance that is evacuated to here again. The caller holds the instance's lock. */
  async settleEvacuated(instanceUuid: string): Promise<void> {
    for (const left of this.all) {
      if (left.evacuated && left.instanceUuid === instanceUuid) {
        await left.remove();
        this.forget(left);
      }
    }
  }

  /** It is gone, or somebody's. */
  forget(left: LeftGuest): void {
    this.#left.delete(left);
  }
}

/** A request on an instance whose operation has ended here without all answers of the conductor, or without the host's lease. */
export interface InterruptedRequest {
  readonly instanceUuid: string;
  readonly requestId: string;
}

/**
 * Requests that left their instances as a crash would, while the agent lives: the conductor was away for longer than a call waits,
 * or than the host's lease holds. They are forgotten with the process, since the next start finds what they left by itself.
 */
export class InterruptedRequests {
  /** By instance: the last one. */
  readonly #requests = new SparseMap<string, InterruptedRequest>();

  get all(): readonly InterruptedRequest[] {
    return [...this.#requests.values()];
  }

  add(request: InterruptedRequest): void {
    this.#requests.set(request.instanceUuid, request);
  }

  /** What it left is settled, or somebody else's. */
  remove(request: InterruptedRequest): void {
    if (this.#requests.get(request.instanceUuid) === request) {
      this.#requests.delete(request.instanceUuid);
    }
  }
}
