import { expect, it } from "vitest";
import { type Candidate, choose } from "../../simulator/corpus/choose.js";
import { readCorpus } from "../../simulator/corpus/corpus-file.js";
import { type Spans, spansOf } from "../../simulator/corpus/coverage.js";
import { PROFILES } from "../../simulator/draw-plan.js";

const range = (startOffset: number, endOffset: number, count: number) => ({ startOffset, endOffset, count });

it("tells what was run of a file: inner ranges say more than those around them", () => {
  const fullSpans = [range(0, 100, 1)];
  const called = [range(10, 50, 3), range(20, 30, 0), range(24, 26, 2)];
  const never = [range(60, 70, 0)];
  expect(spansOf([fullSpans, called, never])).toEqual([
    [0, 20],
    [24, 26],
    [30, 60],
    [70, 100],
  ]);
});

const candidate = (of: string, cost: number, spans: Spans): Candidate<string> => ({
  of,
  cost,
  coverage: new Map([["a.js", spans]]),
});

it("chooses what runs most for its cost, and nothing that adds nothing", () => {
  const candidates = [
    candidate("all but one", 1, [[0, 30]]),
    candidate("within that", 1, [[0, 10]]),
    candidate("the other one", 2, [[40, 50]]),
    candidate("too dear", 9, [[20, 60]]),
  ];
  expect(choose(candidates, 4)).toMatchObject({ chosen: ["all but one", "the other one"] });
  const { chosen, blocks, all } = choose(candidates, 20);
  expect([chosen, blocks]).toEqual([["all but one", "the other one", "too dear"], all]);
});

it("keeps a corpus whose profiles are there", () => {
  const { seeds } = readCorpus(new URL("../../simulator/corpus/corpus.json", import.meta.url));
  expect(seeds.length).toBeGreaterThan(5);
  expect(seeds.filter(({ profile }) => PROFILES[profile] === undefined)).toEqual([]);
});
