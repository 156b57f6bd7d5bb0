/** A query string's parameters in their order; a name may come several times. */
export class Query {
  readonly entries: readonly (readonly [name: string, value: string])[];

  constructor(text: string) {
    this.entries = text === "" ? [] : [...new URLSearchParams(text)];
  }

  /** The last value of a name, as OpenStack's services read one that should come once. */
  get(name: string): string | undefined {
    return this.entries.findLast(([key]) => key === name)?.[1];
  }

  all(name: string): string[] {
    return this.entries.filter(([key]) => key === name).map(([, value]) => value);
  }

  get names(): string[] {
    return [...this.lists().keys()];
  }

  /** All values of each name, in one walk: a query may have thousands of names. */
  lists(): ReadonlyMap<string, readonly string[]> {
    const lists = new Map<string, string[]>();
    for (const [name, value] of this.entries) {
      const list = lists.get(name);
      if (list) {
        list.push(value);
      } else {
        lists.set(name, [value]);
      }
    }
    return lists;
  }
}
