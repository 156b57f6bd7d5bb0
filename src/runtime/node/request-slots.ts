/** Milliseconds of reads in one turn of the event loop. */
const SLICE = 0.1;

/** Does not throw; gives a promise when there is more to it than it has done at its return. */
type Work = () => unknown;

/**
 * Begins requests behind all else that a turn of the event loop has brought: one that changes something, and reads for a slice of it;
 * those that are left wait for the next one. Node hands out all that has come for its sockets in between: what an agent says on its
 * connection goes before the requests that came with it, and waits for no more than a change, a slice and a read of those before.
 */
export class RequestQueue {
  #ahead: (() => void)[] = [];
  readonly #changes: Work[] = [];
  readonly #reads: Work[] = [];
  #isTurnDue = false;
  /** When the turn's first read began. */
  #since = 0;

  change(work: Work): void {
    this.#changes.push(work);
    this.#comeBack();
  }

  read(work: Work): void {
    this.#reads.push(work);
    this.#comeBack();
  }

  /** Calls `action`, which does not throw, when the system's arrivals of this turn are handed out, and before the next request begins. */
  goAhead(action: () => void): void {
    this.#ahead.push(action);
    this.#comeBack();
  }

  #comeBack(): void {
    if (!this.#isTurnDue) {
      this.#isTurnDue = true;
      setImmediate(this.#turn);
    }
  }

  /** Each turn begins a change, and a read at least, however little of its time is left by then. */
  readonly #turn = (): void => {
    this.#isTurnDue = false;
    this.#letAhead();
    const change = this.#changes.shift();
    if (change === undefined) {
      this.#beginReads();
    } else {
      goOn(change(), this.#beginReads);
    }
  };

  readonly #beginReads = (): void => {
    this.#letAhead();
    this.#since = performance.now();
    this.#run();
  };

  readonly #next = (): void => {
    this.#letAhead();
    if (performance.now() - this.#since < SLICE) {
      this.#run();
    } else {
      this.#comeBack();
    }
  };

  #run(): void {
    let result: unknown;
    do {
      result = this.#reads.shift()?.();
      if (this.#reads.length === 0) {
        if (this.#changes.length > 0) {
          this.#comeBack();
        }
        return;
      }
      this.#letAhead();
    } while (!(result instanceof Promise) && performance.now() - this.#since < SLICE);
    if (result instanceof Promise) {
      goOn(result, this.#next);
    } else {
      this.#comeBack();
    }
  }

  #letAhead(): void {
    if (this.#ahead.length === 0) {
      return;
    }
    const actions = this.#ahead;
    this.#ahead = [];
    for (const action of actions) {
      action();
    }
  }
}

/** Goes on behind all that a request does without waiting for anything, which counts. */
function goOn(result: unknown, next: () => void): void {
  if (result instanceof Promise) {
    queueMicrotask(() => process.nextTick(next));
  } else {
    next();
  }
}
