import { SparseMap } from "../../../runtime/sparse.js";

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
