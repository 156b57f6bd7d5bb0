import type { Coverage, Spans } from "./coverage.js";

/** An item to choose from, with its cost and coverage. */
export interface Candidate<T> {
  readonly of: T;
  readonly cost: number;
  readonly coverage: Coverage;
}

export interface Choice<T> {
  readonly chosen: readonly T[];
  /** The number of blocks that the chosen items cover. */
  readonly blocks: number;
  /** The number of blocks that all items cover. */
  readonly all: number;
}

/** Chooses items within the budget: always the one that covers the most new blocks for its cost. */
export function choose<T>(candidates: readonly Candidate<T>[], budget: number): Choice<T> {
  const left = new Map(candidates.map((candidate) => [candidate, new Set<number>()]));
  const all = numberBlocks(left);
  const chosen: T[] = [];
  const run = new Set<number>();
  for (let spent = 0; ; ) {
    const [best] = [...left]
      .filter(([{ cost }, blocks]) => blocks.size > 0 && spent + cost <= budget)
      .sort(([one, ones], [other, others]) => others.size / other.cost - ones.size / one.cost);
    if (best === undefined) {
      return { chosen, blocks: run.size, all };
    }
    const [candidate, blocks] = best;
    chosen.push(candidate.of);
    spent += candidate.cost;
    for (const block of [...blocks]) {
      run.add(block);
      for (const others of left.values()) {
        others.delete(block);
      }
    }
  }
}

/**
 * Numbers the blocks of code; a block is a range between two positions where the coverage of any item begins or ends.
 * @returns the number of blocks that at least one item covers
 */
function numberBlocks<T>(into: ReadonlyMap<Candidate<T>, Set<number>>): number {
  const files = new Set([...into.keys()].flatMap(({ coverage }) => [...coverage.keys()]));
  const covered = new Set<number>();
  let first = 0;
  for (const file of files) {
    const spans = [...into.keys()].map(({ coverage }) => coverage.get(file) ?? []);
    const edges = [...new Set(spans.flat(2))].sort((left, right) => left - right);
    for (const [candidate, blocks] of into) {
      for (const index of blocksIn(candidate.coverage.get(file) ?? [], edges)) {
        blocks.add(first + index);
        covered.add(first + index);
      }
    }
    first += edges.length;
  }
  return covered.size;
}

function blocksIn(spans: Spans, edges: readonly number[]): readonly number[] {
  return spans.flatMap(([from, to]) => edges.flatMap((edge, index) => (edge >= from && edge < to ? [index] : [])));
}
