import { RE2JS } from "re2js";
import type { EventLoopTicks } from "../../event-loop.js";

/** Max characters of a pattern. Names are no longer than that. */
const LONGEST = 255;
/**
 * Max members of a pattern after its counted repetitions are expanded. Each member costs time per character of a name.
 */
const MAX_MEMBERS = 500;

/**
 * A user's regular expression, searched in a string, ignoring case. Nova's filters accept these, validated by Python
 * and matched by the database. RE2 matches in linear time, so that no pattern blocks other requests. What RE2 lacks
 * (backreferences, look-around) is as invalid as what Python rejects.
 */
export class NamePattern {
  /**
   * The same pattern for SQL's LIKE, which ignores the case of ASCII letters only. Undefined if the pattern is not
   * plain ASCII.
   */
  readonly like: string | undefined;
  readonly #pattern: string;
  #expression: RE2JS | undefined;

  /** @throws {SyntaxError} if the pattern is invalid or too large */
  constructor(pattern: string) {
    if (pattern === "" || pattern.length > LONGEST || membersOf(pattern) > MAX_MEMBERS) {
      throw new SyntaxError(`a pattern must have 1 to ${LONGEST} characters and at most ${MAX_MEMBERS} members`);
    }
    this.#pattern = pattern;
    this.like = likeOf(pattern);
    // A plain string is always valid. Compiling it takes as long as matching a hundred names, so it is delayed until
    // the first match.
    this.#expression = this.like === undefined ? compiled(pattern) : undefined;
  }

  matches(name: string): boolean {
    this.#expression ??= compiled(this.#pattern);
    return this.#expression.test(name);
  }

  /** Returns the members whose name matches, in their order. */
  async select<T>(members: readonly T[], nameOf: (member: T) => string, ticks: EventLoopTicks): Promise<readonly T[]> {
    const found: T[] = [];
    for (const member of members) {
      if (ticks.due) {
        await ticks.give();
      }
      if (this.matches(nameOf(member))) {
        found.push(member);
      }
    }
    return found;
  }
}

/** @throws {SyntaxError} */
function compiled(pattern: string): RE2JS {
  try {
    return RE2JS.compile(translated(pattern), RE2JS.CASE_INSENSITIVE);
  } catch (error) {
    throw new SyntaxError(`invalid regular expression: ${pattern}`, { cause: error });
  }
}

export function isNamePattern(text: string): boolean {
  try {
    new NamePattern(text);
    return true;
  } catch {
    return false;
  }
}

/** Letters and digits that both Python and RE2 allow after a backslash, in the same or another spelling. */
const ESCAPES = /^[AbBdDsSwWafnrtvx0]$/;
const GROUP_NAMED_OTHERWISE = /(?<!\\)\(\?</;

/** Translates Python's dialect to RE2's. @throws {SyntaxError} for syntax that only RE2 accepts */
function translated(pattern: string): string {
  if (GROUP_NAMED_OTHERWISE.test(pattern)) {
    throw new SyntaxError("unknown extension ?<");
  }
  return pattern.replaceAll(/\\(.)/gsu, (escaped, char: string) => {
    if (char === "Z") {
      return "\\z";
    }
    if (char > "\x7f") {
      return char;
    }
    if (/[A-Za-z0-9]/.test(char) && !ESCAPES.test(char)) {
      throw new SyntaxError(`bad escape ${escaped}`);
    }
    return escaped;
  });
}

/** Plain ASCII with an optional `^` or `$`: the pattern that clients build to find a server by its name. */
const PLAIN = /^(\^?)((?:[A-Za-z0-9 _=:;,<>@#%&~'"/!-]|\\[!-/:-@[-`{-~])+)(\$?)$/;

function likeOf(pattern: string): string | undefined {
  const [, begin, text, end] = PLAIN.exec(pattern) ?? [];
  if (text === undefined) {
    return undefined;
  }
  const escaped = text.replaceAll(/\\(.)/g, "$1").replaceAll(/[\\%_]/g, "\\$&");
  return `${begin ? "" : "%"}${escaped}${end ? "" : "%"}`;
}

const TOKEN = /\\.|\[\^?\]?(?:\[:\w+:\]|\\.|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|./gsu;

/**
 * Returns the number of members after `a{3}` is expanded to `aaa`, which is the cost of compiling and matching the
 * pattern.
 */
function membersOf(pattern: string): number {
  const groups = [0];
  let last = 0;
  const add = (members: number): void => {
    groups.push((groups.pop() ?? 0) + members);
  };
  for (const [token, least, most] of pattern.matchAll(TOKEN)) {
    if (token === "(") {
      groups.push(0);
    } else if (token === ")") {
      last = (groups.pop() ?? 0) + 1;
      add(last);
    } else if (least === undefined) {
      last = 1;
      add(last);
    } else {
      const times = Math.max(1, Number(least), Number(most ?? 0));
      add(last * (times - 1));
      last *= times;
    }
  }
  return groups.reduce((sum, members) => sum + members, 0);
}
