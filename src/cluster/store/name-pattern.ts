import { refuse } from "./check.js";

/** More is refused: a pattern is a person's filter, not a program. */
const LONGEST = 255;
/** Each further open-ended repetition multiplies the time by the length of the name. */
const MOST_REPETITIONS = 3;
/** A group that is repeated and repeats something inside can take exponential time in a backtracking engine. */
const NESTED_REPEAT = /\((?:[^()\\]|\\.)*(?:[*+?}|]|\((?:[^()\\]|\\.)*\))(?:[^()\\]|\\.)*\)\s*[*+{]/;

/** The regular expression of the `name` filter: found anywhere in the name, letter case ignored, as MySQL's REGEXP does. */
export class NamePattern {
  readonly #expression: RegExp;

  /** @throws {InvalidParameters} when it is none, or could take exponential time. */
  constructor(pattern: string) {
    const repetitions = pattern.match(/(?<!\\)[*+{]/g)?.length ?? 0;
    if (pattern.length > LONGEST || repetitions > MOST_REPETITIONS || NESTED_REPEAT.test(pattern)) {
      const expected = `of at most ${LONGEST} characters, with at most ${MOST_REPETITIONS} repetitions, none inside another`;
      refuse("name", pattern, `a regular expression ${expected}`);
    }
    try {
      this.#expression = new RegExp(pattern, "iu");
    } catch {
      refuse("name", pattern, "a regular expression");
    }
  }

  matches(name: string): boolean {
    return this.#expression.test(name);
  }
}
