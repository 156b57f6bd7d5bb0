import { readFileSync } from "node:fs";
import { Type } from "typebox";
import { Value } from "typebox/value";

/** A seed, and the profile by which it is drawn. */
export interface CorpusSeed {
  readonly seed: number;
  readonly profile: string;
}

/** Seeds that together run most of what the simulator can run, chosen by `npm run simulate choose-corpus`. */
export interface Corpus {
  /** Virtual milliseconds in which things are done. */
  readonly duration: number;
  readonly seeds: readonly CorpusSeed[];
}

const CORPUS = Type.Object({
  duration: Type.Number({ minimum: 1 }),
  seeds: Type.Array(Type.Object({ seed: Type.Integer({ minimum: 0 }), profile: Type.String() })),
});

/** Beside the sources: the build has no JSON. */
export const CORPUS_FILE = new URL("../../../../test/simulator/corpus/corpus.json", import.meta.url);

/** @throws when it is none */
export function readCorpus(file: URL): Corpus {
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!Value.Check(CORPUS, content)) {
    throw new Error(`${file.pathname} is no corpus of seeds`);
  }
  return content;
}
