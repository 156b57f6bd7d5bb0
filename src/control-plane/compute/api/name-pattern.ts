import { RE2JS } from "re2js";
import type { EventLoopTicks } from "../../event-loop.js";

/** Characters of a pattern; a name has no more. */
const LONGEST = 255;
/** Members of a pattern when its counted repetitions are written out; each costs time with each character of a name. */
const MAX_MEMBERS = 500;

/**
 * A regular expression of a user, found anywhere in a text, letter case ignored: what Nova's filters take, which Python
 * judges and the database matches. RE2 matches it in a time that grows with the length of the text and no more, so that
 * no pattern holds up other requests; what RE2 lacks (backreferences, looking around) is as invalid as what Python refuses.
 */
export class NamePattern {
  /** The same for SQL's LIKE, which knows the letter case of ASCII alone; undefined: the pattern is more than a text of ASCII. */
  readonly like: string | undefined;
  readonly #pattern: string;
  #expression: RE2JS | undefined;

  /** @throws {SyntaxError} when it is none, or larger than any filter of names has to be */
  constructor(pattern: string) {
    if (pattern === "" || pattern.length > LONGEST || membersOf(pattern) > MAX_MEMBERS) {
      throw new SyntaxError(`a pattern has 1 to ${LONGEST} characters and ${MAX_MEMBERS} members`);
    }
    this.#pattern = pattern;
    this.like = likeOf(pattern);
    // A text is valid; it is compiled, which takes longer than to match a hundred names, when a name is there to be matched.
    this.#expression = this.like === undefined ? compiled(pattern) : undefined;
  }

  matches(name: string): boolean {
    this.#expression ??= compiled(this.#pattern);
    return this.#expression.test(name);
  }

  /** The members whose name matches, in their order. */
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
    throw new SyntaxError(`not a regular expression: ${pattern}`, { cause: error });
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

/** Letters and digits that Python allows behind a backslash, and RE2 too or in another spelling. */
const ESCAPES = /^[AbBdDsSwWafnrtvx0]$/;
const GROUP_NAMED_OTHERWISE = /(?<!\\)\(\?</;

/** Python's dialect in RE2's words. @throws {SyntaxError} what RE2 takes and Python does not */
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

/** A text of ASCII, perhaps with the beginning or the end of the name: what clients make of a name to find it by. */
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

/** How many members the pattern has when `a{3}` is written `aaa`: what compiling and matching it costs. */
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
