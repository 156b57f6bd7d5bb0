/** One task a guest at a time, in the order they came. */
export class GuestLock {
  readonly #last = new Map<string, Promise<unknown>>();

  async own<T>(uuid: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(uuid) ?? Promise.resolve();
    const own = before.then(work, work);
    this.#last.set(uuid, own);
    try {
      return await own;
    } finally {
      if (this.#last.get(uuid) === own) {
        this.#last.delete(uuid);
      }
    }
  }
}
