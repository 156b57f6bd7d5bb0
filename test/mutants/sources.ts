import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, normalize, relative } from "node:path";
import { parse } from "./syntax.js";

/** The mutated folders: the code that decides which host owns an instance, and which allocations it has. */
export const FOLDERS = [
  "src/agent/startup",
  "src/agent/evacuation",
  "src/agent/tracker",
  "src/agent/operations",
  "src/placement-client",
  "src/control-plane/scheduler",
  "src/control-plane/conductor",
  "src/audit/checks",
] as const;

/** The test folders that run in the same process, fastest first. */
export const TESTS = ["test/unit", "test/scenario", "test/matrix"] as const;

/** The sources and tests of a working copy, and their imports. */
export class SourceTree {
  readonly root: string;
  readonly #imports = new Map<string, readonly string[]>();

  constructor(root: string) {
    this.root = root;
  }

  text(path: string): string {
    return readFileSync(join(this.root, path), "utf8");
  }

  mutated(): readonly string[] {
    return FOLDERS.flatMap((folder) => this.#filesIn(folder, ".ts"));
  }

  tests(): readonly string[] {
    return TESTS.flatMap((folder) => this.#filesIn(folder, ".test.ts"));
  }

  /** Returns all files that a file imports, directly or indirectly, and itself. */
  closure(path: string): ReadonlySet<string> {
    const found = new Set([path]);
    for (const next of found) {
      for (const target of this.#importsOf(next)) {
        found.add(target);
      }
    }
    return found;
  }

  #importsOf(path: string): readonly string[] {
    const known = this.#imports.get(path);
    if (known) {
      return known;
    }
    const { imports } = parse(path, this.text(path));
    const own = imports
      .filter((specifier) => specifier.startsWith(".") && specifier.endsWith(".js"))
      .map((specifier) => normalize(join(dirname(path), specifier)).replace(/\.js$/, ".ts"));
    this.#imports.set(path, own);
    return own;
  }

  #filesIn(folder: string, end: string): readonly string[] {
    return readdirSync(join(this.root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith(end))
      .map((entry) => relative(this.root, join(entry.parentPath, entry.name)))
      .sort();
  }
}

/** Words of a path that do not describe its subject. */
const EMPTY_WORDS = new Set(["src", "test", "unit", "scenario", "matrix", "ts", "instance", "a", "of", "the"]);

/** Tests that run complete simulations many times; they are tried last. */
const DEAR = /-(anywhere|faults|races)\.test\.ts$|property\.test\.ts$|^test\/matrix\//;

/** Returns the tests whose names have the most, and the rarest, words in common with the source's name. */
export function nearest(source: string, tests: readonly string[], count: number): readonly string[] {
  const wordsByTest = tests.filter((path) => !DEAR.test(path)).map((path) => ({ path, words: wordsOf(path) }));
  const own = wordsOf(source);
  const weight = (word: string) => 1 / (1 + wordsByTest.filter(({ words }) => words.has(word)).length);
  return wordsByTest
    .map(({ path, words }) => ({
      path,
      score: [...own].filter((word) => words.has(word)).reduce((sum, word) => sum + weight(word), 0),
    }))
    .sort((left, right) => right.score - left.score)
    .slice(0, count)
    .map(({ path }) => path);
}

function wordsOf(path: string): ReadonlySet<string> {
  const words = path.split(/[/.-]/).map((word) => word.replace(/s$/, ""));
  return new Set(words.filter((word) => !EMPTY_WORDS.has(word)));
}

/**
 * Returns the tests that reach any of the files: unit tests first, then those that import the least code under test.
 */
export function testsOf(tree: SourceTree, files: ReadonlySet<string>): readonly string[] {
  const mutated = new Set(tree.mutated());
  return tree
    .tests()
    .map((path) => ({ path, needs: [...tree.closure(path)] }))
    .filter(({ needs }) => needs.some((need) => files.has(need)))
    .map(({ path, needs }) => ({
      path,
      rank: DEAR.test(path) ? 2 : path.startsWith("test/scenario/") ? 1 : 0,
      width: needs.filter((need) => mutated.has(need)).length,
    }))
    .sort((left, right) => left.rank - right.rank || left.width - right.width)
    .map(({ path }) => path);
}
