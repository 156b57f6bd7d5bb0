import { setImmediate } from "node:timers";

/** A turn of the event loop: everything that is ready has had its turn afterwards. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** What is under way and ends by itself, whatever the time is: files that are read, messages on their way. */
export class Activity {
  #count = 0;
  #waiting: (() => void)[] = [];
  /** Resolves when what is to begin may begin. */
  #held: Promise<void> | undefined;

  async during<T>(work: () => Promise<T>): Promise<T> {
    while (this.#held !== undefined) {
      await this.#held;
    }
    this.#count += 1;
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  /** Calls `action` in the next turn of the event loop; returns what cancels it. */
  soon(action: () => void): () => void {
    let isOver = false;
    const end = () => {
      if (!isOver) {
        isOver = true;
        this.#end();
      }
    };
    this.#count += 1;
    const planned = setImmediate(() => {
      try {
        action();
      } finally {
        end();
      }
    });
    return () => {
      clearImmediate(planned);
      end();
    };
  }

  /** Resolves when nothing is under way, and nothing that was ready has begun anything. */
  async quiet(): Promise<void> {
    do {
      if (this.#count > 0) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
      }
      await turn();
    } while (this.#count > 0);
  }

  /** Does something while nothing is under way: what is to begin waits for it. One after the other. */
  async atRest<T>(work: () => T): Promise<T> {
    while (this.#held !== undefined) {
      await this.#held;
    }
    let release: () => void = () => undefined;
    this.#held = new Promise((resolve) => {
      release = resolve;
    });
    try {
      await this.quiet();
      return work();
    } finally {
      this.#held = undefined;
      release();
    }
  }

  #end(): void {
    this.#count -= 1;
    if (this.#count === 0) {
      const waiting = this.#waiting;
      this.#waiting = [];
      for (const resume of waiting) {
        resume();
      }
    }
  }
}
