import { SparseSet } from "../../runtime/sparse.js";

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
