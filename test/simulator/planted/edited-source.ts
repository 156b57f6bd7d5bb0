import { transformSync } from "rolldown/utils";
import type { Mutation } from "../../mutants/mutant.js";
import type { Edit } from "./planted-bug.js";

/** @throws {Error} if the text to replace does not occur exactly once, because the product has changed */
export function edited(source: string, { file, find, replace }: Edit): string {
  const times = source.split(find).length - 1;
  if (times !== 1) {
    throw new Error(`${file} has ${times} times, expected once: ${find}`);
  }
  return source.replace(find, () => replace);
}

/** Applies one mutation permanently to the source. */
export function mutated(source: string, { shape, start, end, replacement }: Mutation): string {
  switch (shape) {
    case "expression":
      return `${source.slice(0, start)}(${replacement})${source.slice(end)}`;
    case "statement":
      return `${source.slice(0, start)}{}${source.slice(end)}`;
    case "entry":
      return `${source.slice(0, start)} ${replacement} ${source.slice(start)}`;
  }
}

/**
 * Compiles a file as the build does.
 * @throws {Error} if it is not valid TypeScript
 */
export function compiled(file: string, source: string): string {
  const { code, errors } = transformSync(file, source, { typescript: {} });
  if (errors.length > 0) {
    throw new Error(`${file} cannot be compiled: ${errors[0]?.message}`);
  }
  return code;
}
