import { parseArgs } from "node:util";

export interface MutantOptions {
  /** The number of mutants to draw; null: all. */
  readonly sample: number | null;
  /** Determines, together with the code, which mutants are drawn. */
  readonly seed: string;
  /** Only mutants of these files or folders; empty: all. */
  readonly files: readonly string[];
  /** Only mutants of files that changed since this commit. */
  readonly since: string | undefined;
  /** The processor time in seconds for the tests of one mutant. */
  readonly timeoutSeconds: number;
  /** Runs only the nearest tests. */
  readonly near: boolean;
  readonly json: boolean;
}

export const USAGE = `npm run test:mutants -- [--sample N | --all] [--seed TEXT] [--file PATH]... [--since COMMIT] [--patience SECONDS] [--near] [--json]
Changes the code in small ways, one at a time, and runs the tests that reach each change. By default 200 mutants are
drawn from all folders under test. Ends with 1 when fewer than 85 % of them are killed.`;

/** @throws {Error} for an unknown option or an invalid value */
export function readOptions(args: readonly string[]): MutantOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      sample: { type: "string", default: "200" },
      all: { type: "boolean", default: false },
      seed: { type: "string", default: "1" },
      file: { type: "string", multiple: true, default: [] },
      since: { type: "string" },
      patience: { type: "string", default: "5" },
      near: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
    },
  });
  return {
    sample: values.all ? null : positive("--sample", values.sample),
    seed: values.seed,
    files: values.file,
    since: values.since,
    timeoutSeconds: positive("--patience", values.patience),
    near: values.near,
    json: values.json,
  };
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (!(value > 0)) {
    throw new Error(`${name} ${text}: expected a number above 0`);
  }
  return value;
}
