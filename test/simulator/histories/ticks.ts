/** Numbers moments, in the order in which they come about: many things happen in one millisecond of virtual time. */
export class Ticks {
  #last = 0;

  next(): number {
    this.#last += 1;
    return this.#last;
  }
}
