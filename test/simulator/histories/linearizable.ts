/** An operation on a record, which takes effect at one moment between two ticks. */
export interface Act<S> {
  readonly invoked: number;
  /** Infinity: there was no response, so it may take effect at any time, or never. */
  readonly completed: number;
  /** Returns the state after the operation; undefined if its response is impossible in this state. */
  readonly apply: (state: S) => S | undefined;
  /** A description for users. */
  readonly what: string;
}

/** A possible intermediate result of the operations so far. */
interface World<S> {
  readonly state: S;
  /** Operations that have taken effect, but are not completed yet. */
  readonly done: ReadonlySet<Act<S>>;
}

/** The max number of intermediate results; beyond that, the record is not checked. */
const MAX_WORLDS = 20_000;

/**
 * Searches an order of all operations, each at a moment between its invocation and its completion, that explains all
 * responses.
 * This is linearizability, as defined by Wing and Gong. States are compared as JSON.
 * @returns the first operation whose response no order explains; null: none
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
      // Fast path: no other operation is in progress, so there is a single result.
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

/** Returns these intermediate results, and those in which operations in progress have taken effect, in any order. */
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
