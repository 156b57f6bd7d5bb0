/** Does something for many, some at a time: for all together who come while it is done for those before. */
export class CoalescedWork<T> {
  readonly #work: (all: readonly T[]) => Promise<void>;
  #waiting: T[] = [];
  #next: Promise<void> | null = null;
  #before: Promise<void> = Promise.resolve();

  constructor(work: (all: readonly T[]) => Promise<void>) {
    this.#work = work;
  }

  /** Settles as the work for it and those that it is done with does. */
  add(one: T): Promise<void> {
    this.#waiting.push(one);
    this.#next ??= this.#afterThoseBefore();
    return this.#next;
  }

  async #afterThoseBefore(): Promise<void> {
    await this.#before.catch(() => undefined);
    const all = this.#waiting;
    this.#waiting = [];
    this.#next = null;
    this.#before = this.#work(all);
    await this.#before;
  }
}
