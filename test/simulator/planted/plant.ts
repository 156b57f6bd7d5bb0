import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { QuirkName } from "../../../src/config/quirks.js";
import { drawMutants } from "./draw-mutants.js";
import { edited, mutated } from "./edited-source.js";
import type { PlantedBug } from "./planted-bug.js";
import { PLANTED_BUGS } from "./planted-bugs.js";

/** A defect of a copy of the product. */
export interface Plant {
  readonly name: string;
  readonly what: string;
  /** Whether the simulator must find it. */
  readonly known: boolean;
  readonly quirks: readonly QuirkName[];
  /** The profile for its seeds; null: the command's. */
  readonly profile: string | null;
  /** The changed sources of the copy, by file. */
  readonly sources: ReadonlyMap<string, string>;
}

/**
 * @param root the project's folder
 * @throws {Error} if a text to replace does not exist
 */
export function plantedBugs(root: URL): readonly Plant[] {
  return PLANTED_BUGS.map((bug) => plantOf(bug, root));
}

function plantOf({ bug, what, quirks = [], edits = [], profile }: PlantedBug, root: URL): Plant {
  const sources = new Map<string, string>();
  for (const edit of edits) {
    sources.set(edit.file, edited(sources.get(edit.file) ?? sourceOf(root, edit.file), edit));
  }
  return {
    name: typeof bug === "number" ? `lp-${bug}` : bug,
    what,
    known: true,
    quirks,
    profile: profile ?? null,
    sources,
  };
}

/** Draws mutants; the result depends only on seed and code. */
export function plantedMutants(root: URL, count: number, seed: string): readonly Plant[] {
  return drawMutants(root, count, seed).map((mutation, index) => {
    const { path, line, operator, change, kind } = mutation;
    return {
      name: `mutant-${String(index + 1).padStart(2, "0")}`,
      what: `${kind}, ${path.replace(/^src\//, "")}:${line} ${operator}: ${change}`,
      known: false,
      quirks: [],
      profile: null,
      sources: new Map([[path, mutated(sourceOf(root, path), mutation)]]),
    };
  });
}

function sourceOf(root: URL, file: string): string {
  return readFileSync(fileURLToPath(new URL(file, root)), "utf8");
}
