import { MAX_INTEGER } from "../records/field.js";

/** What a value must be, in words, and whether one is. */
export type Rule = readonly [expected: string, holds: (value: unknown) => boolean];

/** A value that breaks its rule. */
export interface WrongValue {
  /** Where it is in what the driver gave: `inventory VCPU.total`. */
  readonly path: string;
  readonly found: unknown;
  readonly expected: string;
}

export function integerFrom(least: number, most = MAX_INTEGER): Rule {
  const range = most === MAX_INTEGER ? `at least ${least}` : `${least} to ${most}`;
  return [
    `an integer of ${range}`,
    (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  ];
}

/** A ratio is a fraction, and never 0 (bug 1789654). */
export const RATIO: Rule = [
  "a number greater than 0",
  (value) => Number.isFinite(value) && Number(value) > 0 && Number(value) <= LARGEST_RATIO,
];
/** What Placement's column takes. */
const LARGEST_RATIO = 3.40282e38;

export function matching(expected: string, pattern: RegExp, longest = 255): Rule {
  return [expected, (value) => typeof value === "string" && value.length <= longest && pattern.test(value)];
}
