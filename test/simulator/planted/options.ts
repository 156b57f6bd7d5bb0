import { tmpdir } from "node:os";
import { parseArgs } from "node:util";
import { PROFILES } from "../draw-plan.js";
import { parseInteger, positive } from "../options.js";
import type { HuntOptions } from "./hunt.js";

export const USAGE = `npm run simulate planted -- [--only NAME]... [--minutes M] [--mutants COUNT] [--draw TEXT]
                            [--seed N] [--hours H] [--profile NAME] [--jobs N] [--keep] [--json]

Plants one known bug at a time in a copy of the build, and simulates seeds until one finds it.

  --only NAME      lp-1853009, mutant-07, or the beginning of such names: "lp" or "mutant"
  --minutes M      minutes of each processor for each bug; default 2
  --mutants COUNT  mutants of the product's own lines besides the known bugs; default 30
  --draw TEXT      what the mutants are drawn from, beside the code; default 1
  --seed N         the first seed for each bug; default 1
  --hours H        virtual hours in which things are done, per seed; default 0.17 (ten minutes)
  --profile NAME   ${Object.keys(PROFILES).join(", ")}; default swarm
  --jobs N         processes; default: one a core, at most 8
  --keep           leaves the copies in dist/planted, to look into one with
                   node dist/planted/NAME/test/simulator/run.js --seed N --seeds 1
  --json           one object a bug, for scripts

The exit code is 1 when a known bug was not found, or a seed fails without any.`;

export interface PlantedOptions {
  /** Prefixes of names; empty: all. */
  readonly only: readonly string[];
  readonly mutants: number;
  readonly draw: string;
  readonly hunt: HuntOptions;
  readonly keep: boolean;
  readonly json: boolean;
}

/**
 * @param cores the machine's number of processors
 * @throws {Error} with the actual and the expected value
 */
export function readPlantedOptions(args: readonly string[], cores: number): PlantedOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: "string", multiple: true, default: [] },
      minutes: { type: "string", default: "2" },
      mutants: { type: "string", default: "30" },
      draw: { type: "string", default: "1" },
      seed: { type: "string", default: "1" },
      hours: { type: "string", default: "0.1667" },
      profile: { type: "string", default: "swarm" },
      jobs: { type: "string" },
      keep: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  const { profile } = values;
  if (PROFILES[profile] === undefined) {
    throw new Error(`--profile ${profile}: expected ${Object.keys(PROFILES).join(", ")}`);
  }
  const jobs = values.jobs === undefined ? Math.min(8, cores) : parseInteger("jobs", values.jobs, 1);
  const duration = Math.round(positive("hours", values.hours) * 3_600_000);
  return {
    only: values.only,
    mutants: parseInteger("mutants", values.mutants, 0),
    draw: values.draw,
    hunt: {
      each: { duration, profile, shrink: false, out: tmpdir() },
      seed: parseInteger("seed", values.seed, 0),
      jobs,
      limit: positive("minutes", values.minutes) * 60_000 * jobs,
    },
    keep: values.keep,
    json: values.json,
  };
}
