/** All ways to take one item of each list, the last list varying fastest. */
export function* product<T>(lists: readonly (readonly T[])[]): Generator<T[]> {
  if (lists.some((list) => list.length === 0)) {
    return;
  }
  const at = lists.map(() => 0);
  for (;;) {
    yield lists.map((list, i) => list[at[i] ?? 0] as T);
    let i = lists.length - 1;
    for (; i >= 0; i -= 1) {
      const next = (at[i] ?? 0) + 1;
      at[i] = next;
      if (next < (lists[i]?.length ?? 0)) {
        break;
      }
      at[i] = 0;
    }
    if (i < 0) {
      return;
    }
  }
}

/** One item of each generator in turn, until all have ended. */
export function* roundRobin<T>(generators: readonly Generator<T>[]): Generator<T> {
  let open = [...generators];
  while (open.length > 0) {
    const still: Generator<T>[] = [];
    for (const generator of open) {
      const next = generator.next();
      if (next.done === true) {
        continue;
      }
      still.push(generator);
      yield next.value;
    }
    open = still;
  }
}
