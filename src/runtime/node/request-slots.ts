/** Max milliseconds of reads per event-loop tick. */
const SLICE = 0.1;

/** Must not throw. Returns a promise if it continues asynchronously. */
type Work = () => unknown;

/**
 * Starts low-priority requests after all other arrivals of an event-loop tick: one change, then reads for one slice of
 * time. The remaining ones wait for the next tick, and Node delivers new socket data in between. An agent's message is
 * therefore handled before the requests that arrived with it. It waits for at most one change, one slice and one read.
 */
export class RequestQueue {
  #ahead: (() => void)[] = [];
  readonly #changes: Work[] = [];
  readonly #reads: Work[] = [];
  #isTurnDue = false;
  /** Start time of the tick's first read. */
  #since = 0;

  change(work: Work): void {
    this.#changes.push(work);
    this.#comeBack();
  }

  read(work: Work): void {
    this.#reads.push(work);
    this.#comeBack();
  }

  /**
   * Calls `action` once this tick's arrivals have been dispatched and before the next request starts. `action` must not
   * throw.
   */
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

  /** Each tick starts one change and at least one read, even if the change used up the time. */
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

/** Calls `next` after everything that a request does without waiting, so that this time counts as well. */
function goOn(result: unknown, next: () => void): void {
  if (result instanceof Promise) {
    queueMicrotask(() => process.nextTick(next));
  } else {
    next();
  }
}
