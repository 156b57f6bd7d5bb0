import type { Mutant } from "./mutant.js";
import { SWITCH } from "./switch.js";

interface Insertion {
  readonly at: number;
  readonly text: string;
  /** 0 closes a range; it precedes insertions that open one at the same position. */
  readonly opens: 0 | 1;
  /** The range's length: an outer range opens before an inner one and closes after it. */
  readonly length: number;
}

/** Inserts all mutants into the source; each is effective while it is active. */
export function weave(text: string, mutants: readonly Mutant[]): string {
  const insertions = mutants.flatMap(insertionsOf).sort(byPlace);
  let [woven, at] = ["", 0];
  for (const insertion of insertions) {
    woven += text.slice(at, insertion.at) + insertion.text;
    at = insertion.at;
  }
  return `const __mutants = globalThis[Symbol.for("${SWITCH}")];${woven}${text.slice(at)}`;
}

function insertionsOf({ id, shape, start, end, replacement }: Mutant): readonly Insertion[] {
  const on = `__mutants.isOn(${id})`;
  const length = end - start;
  const open = (inserted: string) => ({ at: start, text: inserted, opens: 1, length }) as const;
  const close = (inserted: string) => ({ at: end, text: inserted, opens: 0, length }) as const;
  switch (shape) {
    case "entry":
      return [open(` if (${on}) { ${replacement} } `)];
    case "statement":
      return [open(`if (${on}) {} else { `), close(" }")];
    case "expression":
      return [open(`(${on} ? (${replacement}) : (`), close("))")];
  }
}

function byPlace(left: Insertion, right: Insertion): number {
  if (left.at !== right.at || left.opens !== right.opens) {
    return left.at - right.at || left.opens - right.opens;
  }
  return left.opens === 1 ? right.length - left.length : left.length - right.length;
}
