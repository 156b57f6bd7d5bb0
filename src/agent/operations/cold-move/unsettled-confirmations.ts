/** When a confirmation last ended without its answer, so that its move may be `confirmed` and not over. */
export class UnsettledConfirmations {
  #since: number | null = null;

  /** Milliseconds; null: there is none. */
  get since(): number | null {
    return this.#since;
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
}
