import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import type { QuirkName } from "../../src/config/quirks.js";
import { PROFILES } from "./draw-plan.js";

export const USAGE = `npm run simulate -- [--seed N] [--seeds COUNT] [--hours H] [--profile NAME] [--jobs N]
                    [--minutes M] [--corpus] [--replay FILE] [--shrink] [--out FOLDER] [--json]

  --seed N         the first seed; default: drawn, and printed
  --seeds COUNT    how many seeds, one after the other; default 100
  --minutes M      as many seeds as so many real minutes allow
  --hours H        virtual hours in which things are done, per seed; default 0.17 (ten minutes)
  --profile NAME   ${Object.keys(PROFILES).join(", ")}; default swarm
  --jobs N         processes; default: one a core, at most 8
  --corpus         the seeds of test/simulator/corpus/corpus.json, which run most of the product's code
  --replay FILE    one plan again, from the file that a failure wrote; its trace must be the same
  --shrink         takes away what a failure does not need, and writes what is left
  --out FOLDER     where failures are written; default: the system's folder for temporary files
  --json           one object a seed, for scripts

Subcommands, each with --help:
  choose-corpus    chooses the seeds of --corpus anew
  planted          plants known defects, and counts those that the simulator finds`;

/** The options for simulating each seed. */
export interface SeedOptions {
  /** Virtual milliseconds. */
  readonly duration: number;
  readonly profile: string;
  readonly shrink: boolean;
  readonly out: string;
  /** Upstream defects of all agents and the control plane. */
  readonly quirks?: readonly QuirkName[];
}

export interface SimulateOptions extends SeedOptions {
  readonly seed: number;
  readonly seeds: number;
  /** Real milliseconds; null: no limit. */
  readonly limit: number | null;
  readonly jobs: number;
  readonly corpus: boolean;
  readonly replay: string | null;
  readonly json: boolean;
}

/**
 * @param drawn the default seed
 * @param cores the machine's number of processors
 * @throws {Error} with the actual and the expected value
 */
export function readOptions(
  args: readonly string[],
  { drawn, cores }: { readonly drawn: number; readonly cores: number },
): SimulateOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: { type: "string" },
      seeds: { type: "string" },
      minutes: { type: "string" },
      hours: { type: "string", default: "0.1667" },
      profile: { type: "string", default: "swarm" },
      jobs: { type: "string" },
      corpus: { type: "boolean", default: false },
      replay: { type: "string" },
      shrink: { type: "boolean", default: false },
      out: { type: "string", default: tmpdir() },
      json: { type: "boolean", default: false },
    },
  });
  if (PROFILES[values.profile] === undefined) {
    throw new Error(`--profile ${values.profile}: expected ${Object.keys(PROFILES).join(", ")}`);
  }
  const minutes = values.minutes === undefined ? null : positive("minutes", values.minutes);
  return {
    seed: values.seed === undefined ? drawn : parseInteger("seed", values.seed, 0),
    seeds:
      values.seeds === undefined
        ? minutes === null
          ? 100
          : Number.MAX_SAFE_INTEGER
        : parseInteger("seeds", values.seeds, 1),
    limit: minutes === null ? null : minutes * 60_000,
    duration: Math.round(positive("hours", values.hours) * 3_600_000),
    profile: values.profile,
    jobs: values.jobs === undefined ? Math.min(8, cores) : parseInteger("jobs", values.jobs, 1),
    corpus: values.corpus,
    replay: values.replay ?? null,
    shrink: values.shrink,
    out: values.out,
    json: values.json,
  };
}

export function parseInteger(name: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) {
    throw new Error(`--${name} ${text}: expected a whole number, ${least} or more`);
  }
  return value;
}

export function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) {
    throw new Error(`--${name} ${text}: expected a number above 0`);
  }
  return value;
}
