/**
 * Moves that this host, their destination, has accepted, and that have neither arrived nor been given up: of live migrations
 * from their pre-step to their post-step or roll-back, of cold moves from their preparation to the end of their finish (spec 2.8).
 */
export class IncomingMoves {
  readonly #open = new Set<number>();
  #waiting: (() => void)[] = [];

  get size(): number {
    return this.#open.size;
  }

  /** Ids of their migrations. */
  get migrations(): readonly number[] {
    return [...this.#open];
  }

  begin(migrationId: number): void {
    this.#open.add(migrationId);
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
