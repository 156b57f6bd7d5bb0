import { readFileSync } from "node:fs";
import { Type } from "typebox";
import { Value } from "typebox/value";

/** A seed and its profile. */
export interface CorpusSeed {
  readonly seed: number;
  readonly profile: string;
}

/** The seeds that cover most of what the simulator can run, chosen by `npm run simulate choose-corpus`. */
export interface Corpus {
  /** Virtual milliseconds during which steps are started. */
  readonly duration: number;
  readonly seeds: readonly CorpusSeed[];
}

const CORPUS = Type.Object({
  duration: Type.Number({ minimum: 1 }),
  seeds: Type.Array(Type.Object({ seed: Type.Integer({ minimum: 0 }), profile: Type.String() })),
});

/** In the source folder, since the build has no JSON files. */
export const CORPUS_FILE = new URL("../../../../test/simulator/corpus/corpus.json", import.meta.url);

/** @throws if the file is not a valid corpus */
export function readCorpus(file: URL): Corpus {
  const content: unknown = JSON.parse(readFileSync(file, "utf8"));
  if (!Value.Check(CORPUS, content)) {
    throw new Error(`${file.pathname} is no corpus of seeds`);
  }
  return content;
}
