/** Milliseconds of reads in one turn of the event loop. */
const SLICE = 1;

/**
 * Begins reads for a slice of each turn of the event loop; those that are left wait for the next one. Node hands out all that has come
 * for its sockets in between: what an agent says on its connection, and every request that changes something, waits for a slice and a
 * read, not for all reads that came together.
 */
export class ReadTurns {
  readonly #waiting: (() => void)[] = [];
  /** When the turn's first read began; undefined: none has. */
  #since: number | undefined;

  begin(read: () => void): void {
    if (this.#since === undefined) {
      this.#since = performance.now();
      setImmediate(this.#turn);
      read();
    } else if (this.#waiting.length === 0 && this.#hasTime()) {
      read();
    } else {
      this.#waiting.push(read);
    }
  }

  /** Each turn begins one at least, however little of its time is left by then. */
  readonly #turn = (): void => {
    this.#since = undefined;
    const read = this.#waiting.shift();
    if (read !== undefined) {
      this.#since = performance.now();
      setImmediate(this.#turn);
      this.#run(read);
    }
  };

  readonly #next = (): void => {
    const read = this.#hasTime() ? this.#waiting.shift() : undefined;
    if (read !== undefined) {
      this.#run(read);
    }
  };

  #run(read: () => void): void {
    read();
    // Behind all that the read does without waiting for anything, which counts.
    queueMicrotask(() => process.nextTick(this.#next));
  }

  #hasTime(): boolean {
    return this.#since !== undefined && performance.now() - this.#since < SLICE;
  }
}
