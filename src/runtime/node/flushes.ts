import { fsync } from "node:fs";

interface Waiting {
  readonly file: number;
  readonly done: (error: Error | null) => void;
}

type Fsync = (file: number, done: Waiting["done"]) => void;

/**
 * Has threads wait until files are on the disk. Those of a turn of the event loop are handed over together: to wake a thread costs more
 * than what it does, and the file system writes for all who wait at a time.
 */
export class Flushes {
  readonly #fsync: Fsync;
  #waiting: Waiting[] = [];

  constructor(handOver: Fsync = fsync) {
    this.#fsync = handOver;
  }

  /** Resolves when what was written to the open file is on the disk. */
  flush(file: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ file, done: (error) => (error === null ? resolve() : reject(error)) });
      if (this.#waiting.length === 1) {
        setImmediate(() => this.#handOver());
      }
    });
  }

  #handOver(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (const { file, done } of all) {
      this.#fsync(file, done);
    }
  }
}
