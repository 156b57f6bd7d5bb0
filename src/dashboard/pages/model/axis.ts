/** Milliseconds that a gap of no length would still take, so that what follows at once can be told apart. */
const SHORTEST = 40;
const MAX_TICKS = 7;

/** An axis on which hours between two moves do not hide the milliseconds within one: each gap counts by its logarithm. */
export interface Axis {
  /** In percent. */
  place(at: number): number;
  readonly ticks: readonly { readonly at: number; readonly place: number }[];
}

const lengthOf = (ms: number): number => Math.log2(1 + ms / SHORTEST) + 0.25;

export function axisOf(times: readonly number[]): Axis {
  const moments = [...new Set(times)].sort((a, b) => a - b);
  const places = [0];
  for (let index = 1; index < moments.length; index++) {
    places.push((places[index - 1] ?? 0) + lengthOf((moments[index] ?? 0) - (moments[index - 1] ?? 0)));
  }
  const total = places.at(-1) || 1;
  const place = (at: number): number => {
    const after = moments.findIndex((moment) => moment >= at);
    if (after === -1) {
      return moments.length === 0 ? 0 : 100;
    }
    const [from, to] = [places[after - 1] ?? 0, places[after] ?? 0];
    const [start, end] = [moments[after - 1] ?? at, moments[after] ?? at];
    const share = end === start ? 1 : (at - start) / (end - start);
    return ((from + (to - from) * share) / total) * 100;
  };
  return { place, ticks: ticksOf(moments, place) };
}

/** Moments that stand far enough from each other to be labelled. */
function ticksOf(moments: readonly number[], place: (at: number) => number): Axis["ticks"] {
  const ticks: { at: number; place: number }[] = [];
  for (const at of moments) {
    const here = place(at);
    if (here - (ticks.at(-1)?.place ?? -Infinity) >= 100 / MAX_TICKS) {
      ticks.push({ at, place: here });
    }
  }
  return ticks;
}
