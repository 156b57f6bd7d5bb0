import { Session } from "node:inspector/promises";

/** The executed ranges of a file in characters: sorted, and not adjacent. */
export type Spans = readonly (readonly [from: number, to: number])[];

/** By file, relative to the build's folder. */
export type Coverage = ReadonlyMap<string, Spans>;

/** Measures which code of the product this process executes, block by block, by V8's coverage. */
export class CoverageMeter {
  readonly #session = new Session();
  readonly #root: string;

  /** @param root the build's folder as a file URL; the product is in `src` and `drivers` */
  constructor(root: URL) {
    this.#root = root.href;
    this.#session.connect();
  }

  async start(): Promise<void> {
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** Returns the coverage since the start, or since the last call. */
  async take(): Promise<Coverage> {
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    const own = result.filter(({ url }) => url.startsWith(this.#root) && /^(src|drivers)\//.test(this.#pathOf(url)));
    return new Map(
      own.map(({ url, functions }) => [this.#pathOf(url), spansOf(functions.map(({ ranges }) => ranges))]),
    );
  }

  #pathOf(url: string): string {
    return url.slice(this.#root.length);
  }
}

interface Range {
  readonly startOffset: number;
  readonly endOffset: number;
  readonly count: number;
}

/**
 * Merges ranges. Inner ranges and functions override outer ones.
 * @internal for tests
 */
export function spansOf(functions: readonly (readonly Range[])[]): Spans {
  const ranges = functions.flat();
  const edges = [...new Set(ranges.flatMap(({ startOffset, endOffset }) => [startOffset, endOffset]))].sort(
    (left, right) => left - right,
  );
  const innermost = [...ranges].sort((left, right) => lengthOf(left) - lengthOf(right));
  const spans: [number, number][] = [];
  for (const [index, from] of edges.entries()) {
    const to = edges[index + 1] ?? from;
    const around = innermost.find(({ startOffset, endOffset }) => startOffset <= from && endOffset >= to);
    const last = spans.at(-1);
    if (to === from || around === undefined || around.count === 0) {
      continue;
    }
    if (last?.[1] === from) {
      last[1] = to;
    } else {
      spans.push([from, to]);
    }
  }
  return spans;
}

const lengthOf = ({ startOffset, endOffset }: Range): number => endOffset - startOffset;
