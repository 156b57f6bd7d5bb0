/**
 * `npm run test:mutants`: applies small changes to the code, one at a time, and runs the tests that reach each change.
 * A change that no test detects shows a gap in the tests, or unnecessary code.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { compilable } from "./compile.js";
import type { Mutation } from "./mutant.js";
import { findMutations } from "./operators.js";
import { type MutantOptions, readOptions, USAGE } from "./options.js";
import { print, report, THRESHOLD } from "./report.js";
import { SourceTree } from "./sources.js";
import { Trial } from "./trial.js";

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  const tree = new SourceTree(process.cwd());
  const found = filesOf(tree, options).flatMap((path) => findMutations(path, tree.text(path)));
  const drawn = draw(found, options);
  const mutants = compilable(tree, drawn).map((mutation, index) => ({ ...mutation, id: index + 1 }));
  const rejectedCount = drawn.length - mutants.length;
  process.stderr.write(
    `${drawn.length} of ${found.length} mutants, seed ${options.seed}; ${rejectedCount} of them do not compile\n`,
  );
  const trial = new Trial(tree, mutants, { ...options, progress: showProgress });
  const result = report(await trial.run(), trial.red);
  showProgress("");
  process.stdout.write(`${options.json ? JSON.stringify(result, null, 2) : print(result)}\n`);
  return result.total.score < THRESHOLD ? 1 : 0;
}

function filesOf(tree: SourceTree, { files, since }: MutantOptions): readonly string[] {
  const changed =
    since === undefined
      ? null
      : new Set(execFileSync("git", ["diff", "--name-only", since], { encoding: "utf8" }).split("\n"));
  return tree
    .mutated()
    .filter((path) => files.length === 0 || files.some((file) => path === file || path.startsWith(`${file}/`)))
    .filter((path) => changed?.has(path) ?? true);
}

/**
 * Draws mutants; the result depends only on seed and code. A change of one file does not affect which mutants of other
 * files are drawn.
 */
function draw(found: readonly Mutation[], { sample, seed }: MutantOptions): readonly Mutation[] {
  if (sample === null) {
    return found;
  }
  const lot = ({ path, line, operator, change, start }: Mutation) =>
    createHash("sha256").update([seed, path, line, operator, change, start].join("\n")).digest("hex");
  return found
    .map((mutation) => ({ mutation, lot: lot(mutation) }))
    .sort((left, right) => (left.lot < right.lot ? -1 : 1))
    .slice(0, sample)
    .map(({ mutation }) => mutation);
}

function showProgress(text: string): void {
  if (process.stderr.isTTY) {
    process.stderr.write(`\r\x1b[K${text}`);
  }
}

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
