import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Mutation } from "./mutant.js";
import type { SourceTree } from "./sources.js";

type Sources = Pick<SourceTree, "root" | "text">;

/** Operators that change values. Mutants of conditions are always tried, even if they no longer narrow a type. */
const CHECKED = new Set(["default", "number", "boolean", "string", "element", "property"]);

/** The number of copies that are compiled at once. */
const BATCH = 1500;

/** Returns the mutations that compile: another one could never be committed, and shows nothing about the tests. */
export function compilable<T extends Mutation>(tree: Sources, mutations: readonly T[]): readonly T[] {
  const checked = mutations.filter(({ operator }) => CHECKED.has(operator));
  const rejected = new Set<Mutation>();
  for (let at = 0; at < checked.length; at += BATCH) {
    for (const mutation of findRejected(tree, checked.slice(at, at + BATCH))) {
      rejected.add(mutation);
    }
  }
  return mutations.filter((mutation) => !rejected.has(mutation));
}

/**
 * Compiles each mutation in a separate copy of its file that nothing imports, so that one compiler run checks all of
 * them.
 * A class in a copy is a different type; therefore errors that also occur in an unchanged copy are ignored.
 */
function findRejected(tree: Sources, mutations: readonly Mutation[]): readonly Mutation[] {
  const directory = mkdtempSync(join(tmpdir(), "mutants-"));
  try {
    const write = (path: string, text: string) => {
      mkdirSync(dirname(join(directory, path)), { recursive: true });
      writeFileSync(join(directory, path), text);
    };
    symlinkSync(join(tree.root, "node_modules"), join(directory, "node_modules"));
    write("package.json", '{ "type": "module" }');
    write("tsconfig.json", JSON.stringify(configOf(tree.root, directory)));
    for (const path of new Set(mutations.map(({ path }) => path))) {
      write(copyOf(path, "unchanged"), tree.text(path));
    }
    for (const [index, mutation] of mutations.entries()) {
      write(copyOf(mutation.path, index), changed(tree.text(mutation.path), mutation));
    }
    const errors = compile(directory);
    const errorsOf = (path: string, copy: number | "unchanged") => errors.get(copyOf(path, copy)) ?? new Set();
    return mutations.filter(({ path }, index) =>
      [...errorsOf(path, index)].some((error) => !errorsOf(path, "unchanged").has(error)),
    );
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function copyOf(path: string, copy: number | "unchanged"): string {
  return path.replace(/\.ts$/, `.${copy}.ts`);
}

function configOf(root: string, directory: string) {
  return {
    extends: join(root, "tsconfig.json"),
    compilerOptions: { rootDir: "/", rootDirs: [directory, root], noEmit: true },
    include: [join(directory, "src")],
  };
}

function changed(text: string, { start, end, replacement }: Mutation): string {
  return `${text.slice(0, start)}(${replacement})${text.slice(end)}`;
}

/** Returns the errors of each file, without their positions. */
function compile(directory: string): ReadonlyMap<string, ReadonlySet<string>> {
  const tsc = join(directory, "node_modules/.bin/tsc");
  const { stdout, error } = spawnSync(tsc, ["-p", ".", "--pretty", "false"], {
    cwd: directory,
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (error) {
    throw error;
  }
  const errors = new Map<string, Set<string>>();
  for (const [, path = "", message = ""] of stdout.matchAll(/^(\S+)\(\d+,\d+\): error (.*)$/gm)) {
    errors.set(path, (errors.get(path) ?? new Set()).add(message));
  }
  return errors;
}
