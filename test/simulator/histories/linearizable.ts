/** Something that was done to one record, at one moment between two ticks. */
export interface Act<S> {
  readonly invoked: number;
  /** Infinity: no answer came, and it may have been done, now or later, or not at all. */
  readonly completed: number;
  /** What it leaves behind. Undefined: in this state it cannot have had the answer that it had. */
  readonly apply: (state: S) => S | undefined;
  /** For people. */
  readonly what: string;
}

/** One way in which everything may have come about so far. */
interface World<S> {
  readonly state: S;
  /** Acts that have been done, and whose answers are still to come. */
  readonly done: ReadonlySet<Act<S>>;
}

/** Ways that are looked at together; where there are more, nothing is said of the record. */
const MAX_WORLDS = 20_000;

/**
 * Looks for an order of all acts, each at one moment between its beginning and its answer, that gives every one the answer that
 * it had (linearizability, as Wing and Gong). States are compared as JSON.
 * @returns the first act whose answer no order explains; null: all is well
 */
export function firstUnexplained<S>(initial: S, acts: readonly Act<S>[]): Act<S> | null {
  const open = new Set<Act<S>>();
  let worlds: readonly World<S>[] = [{ state: initial, done: new Set() }];
  for (const { act, ends } of eventsOf(acts)) {
    if (!ends) {
      open.add(act);
      continue;
    }
    const [only] = worlds;
    if (only?.done.size === 0 && worlds.length === 1 && open.size === 1) {
      // Nothing else is under way: there is one way, and it is not told from others.
      const state = act.apply(only.state);
      if (state === undefined) {
        return act;
      }
      worlds = [{ state, done: only.done }];
      open.delete(act);
      continue;
    }
    const all = reachable(worlds, open);
    if (all.length > MAX_WORLDS) {
      return null;
    }
    worlds = all.filter(({ done }) => done.has(act)).map(({ state, done }) => ({ state, done: without(done, act) }));
    open.delete(act);
    if (worlds.length === 0) {
      return act;
    }
  }
  return null;
}

function eventsOf<S>(acts: readonly Act<S>[]): readonly { readonly act: Act<S>; readonly ends: boolean }[] {
  return acts
    .flatMap((act) => [
      { at: act.invoked, act, ends: false },
      ...(Number.isFinite(act.completed) ? [{ at: act.completed, act, ends: true }] : []),
    ])
    .sort((left, right) => left.at - right.at || Number(left.ends) - Number(right.ends));
}

/** These worlds, and those in which acts that are under way have been done, in any order. */
function reachable<S>(worlds: readonly World<S>[], open: ReadonlySet<Act<S>>): readonly World<S>[] {
  const numbers = new Map([...open].map((act, index) => [act, index]));
  const keyOf = ({ state, done }: World<S>) =>
    JSON.stringify([state, [...done].map((act) => numbers.get(act)).sort((left = 0, right = 0) => left - right)]);
  const found = new Map(worlds.map((world) => [keyOf(world), world]));
  for (const world of found.values()) {
    for (const act of open) {
      const state = world.done.has(act) ? undefined : act.apply(world.state);
      if (state !== undefined && found.size <= MAX_WORLDS) {
        const next = { state, done: new Set([...world.done, act]) };
        const key = keyOf(next);
        found.set(key, found.get(key) ?? next);
      }
    }
  }
  return [...found.values()];
}

function without<T>(from: ReadonlySet<T>, one: T): ReadonlySet<T> {
  return new Set([...from].filter((other) => other !== one));
}
