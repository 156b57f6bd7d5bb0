import { Session } from "node:inspector/promises";

/** Where a file's code was run: from one character to another, in order, and none touches the next. */
export type Spans = readonly (readonly [from: number, to: number])[];

/** By file, below the build's folder. */
export type Coverage = ReadonlyMap<string, Spans>;

/** Which code of the product this process runs, block by block, as V8 counts it. */
export class CoverageMeter {
  readonly #session = new Session();
  readonly #root: string;

  /** @param root of the build, a file URL: what lies in `src` and `drivers` there is the product */
  constructor(root: URL) {
    this.#root = root.href;
    this.#session.connect();
  }

  async start(): Promise<void> {
    await this.#session.post("Profiler.enable");
    await this.#session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
  }

  /** What was run since the start, or since the last time. */
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

/** Inner ranges say more than those around them, and come after them; so do inner functions. @internal for tests */
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
