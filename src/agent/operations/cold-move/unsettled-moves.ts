import { SparseSet } from "../../../runtime/sparse.js";

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
