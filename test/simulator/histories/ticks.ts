/** Numbers moments in their order: many events have the same millisecond of virtual time. */
export class Ticks {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
