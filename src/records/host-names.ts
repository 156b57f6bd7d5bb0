/** The pattern for names of compute hosts, for the flag `u`. Also used in schemas. */
export const HOST_NAME_PATTERN = String.raw`^(?!\.{1,2}$)[^\p{C}\p{Z}/\\%]{1,255}$`;

/** The rule in words, for use after "expected". */
export const HOST_NAME_RULE =
  "a host name: 1 to 255 printable characters without spaces, slashes and percent signs, other than . and ..";

const HOST_NAME = new RegExp(HOST_NAME_PATTERN, "u");

/** Max number of names that one range expression may expand to. */
export const MAX_HOSTS = 10_000;

/** Max digits of a number in brackets; more would exceed the exact range of numbers. */
const MAX_DIGITS = 15;

/** An invalid range expression; the message includes the position. */
export class HostRangeError extends Error {
  override readonly name = "HostRangeError";
}

/** A bracket, or the literal text between two brackets. */
type Piece = string | readonly Interval[];

interface Interval {
  readonly first: number;
  readonly last: number;
  /** The number of digits that numbers are padded to with zeros. */
  readonly width: number;
}

/**
 * Expands `a,b,rack[01-20]-node[1-3,7]` to names, in the order of the text and without duplicates. The first bracket
 * varies slowest; numbers are padded like the range's first number.
 * @throws {HostRangeError} for invalid syntax, an invalid host name, or more than {@link MAX_HOSTS} names.
 */
export function expandHosts(text: string): readonly string[] {
  const names = new Set<string>();
  let counted = 0;
  for (const { part, at } of partsOf(text)) {
    const pieces = piecesOf(text, part, at);
    counted += pieces.map(sizeOf).reduce((product, size) => product * size, 1);
    if (counted > MAX_HOSTS) {
      throw new HostRangeError(
        `${quoted(text)}: found more than ${MAX_HOSTS} names at ${quoted(part)}, expected at most ${MAX_HOSTS}`,
      );
    }
    for (const name of namesOf(pieces)) {
      if (!isHostName(name)) {
        throw new HostRangeError(`${quoted(text)}: found the name ${quoted(name)}, expected ${HOST_NAME_RULE}`);
      }
      names.add(name);
    }
  }
  return [...names];
}

/** Splits the text at commas outside brackets. */
function partsOf(text: string): { readonly part: string; readonly at: number }[] {
  const parts: { readonly part: string; readonly at: number }[] = [];
  let depth = 0;
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    const character = text[at];
    if (character === undefined || (character === "," && depth === 0)) {
      const part = text.slice(start, at);
      if (part.trim() === "") {
        throw new HostRangeError(`${quoted(text)}: found no name at character ${start + 1}, expected one`);
      }
      parts.push({ part: part.trim(), at: start + part.length - part.trimStart().length });
      start = at + 1;
    } else if (character === "[") {
      depth += 1;
    } else if (character === "]") {
      depth -= 1;
    }
  }
  return parts;
}

function piecesOf(text: string, part: string, at: number): Piece[] {
  const pieces: Piece[] = [];
  const bracket = /\[([^[\]]*)\]/g;
  let end = 0;
  const literal = (until: number) => {
    const piece = part.slice(end, until);
    const unmatchedIndex = piece.search(/[[\]]/);
    if (unmatchedIndex >= 0) {
      const place = at + end + unmatchedIndex + 1;
      throw new HostRangeError(
        `${quoted(text)}: found ${quoted(piece[unmatchedIndex] ?? "")} at character ${place} without its counterpart, expected pairs of [ and ], not nested`,
      );
    }
    pieces.push(piece);
  };
  for (const match of part.matchAll(bracket)) {
    literal(match.index);
    pieces.push(intervalsOf(text, match[1] ?? "", at + match.index + 2));
    end = match.index + match[0].length;
  }
  literal(part.length);
  return pieces;
}

/** @param at position of the bracket's text, from 1 */
function intervalsOf(text: string, list: string, at: number): Interval[] {
  let place = at;
  return list.split(",").map((item) => {
    const rejectItem = (expected: string): never => {
      throw new HostRangeError(`${quoted(text)}: found ${quoted(item)} at character ${place}, expected ${expected}`);
    };
    const match = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(item);
    const [, from = "", to = from] = match ?? [];
    if (match === null || from.length > MAX_DIGITS || to.length > MAX_DIGITS) {
      return rejectItem(`a number or a range such as 01-20, with at most ${MAX_DIGITS} digits`);
    }
    const padded = isPadded(from) || isPadded(to);
    if (padded && from.length !== to.length) {
      return rejectItem("as many digits at both ends of a zero-padded range");
    }
    const interval = { first: Number(from), last: Number(to), width: padded ? from.length : 0 };
    if (interval.last < interval.first) {
      return rejectItem("an ascending range");
    }
    place += item.length + 1;
    return interval;
  });
}

const isPadded = (digits: string): boolean => digits.length > 1 && digits.startsWith("0");

const quoted = (text: string): string => JSON.stringify(text.length > 80 ? `${text.slice(0, 77)}...` : text);

function sizeOf(piece: Piece): number {
  return typeof piece === "string" ? 1 : piece.reduce((sum, { first, last }) => sum + last - first + 1, 0);
}

function namesOf(pieces: readonly Piece[]): string[] {
  return pieces.reduce<string[]>(
    (names, piece) => {
      const endings = typeof piece === "string" ? [piece] : numbersOf(piece);
      return names.flatMap((name) => endings.map((ending) => name + ending));
    },
    [""],
  );
}

function numbersOf(intervals: readonly Interval[]): string[] {
  return intervals.flatMap(({ first, last, width }) =>
    Array.from({ length: last - first + 1 }, (_none, index) => String(first + index).padStart(width, "0")),
  );
}

/** A name split into its numbers and the literals around them. */
interface Numbered {
  /** The text around the numbers. */
  readonly literals: readonly string[];
  readonly digits: readonly string[];
}

/** The digits of each number of a name, or a bracket where numbers have been folded. */
type Places = readonly string[];

/**
 * Folds names to a range expression for users: `rack[01-20]-node[001-050]`. {@link expandHosts} returns the same names,
 * sorted by number.
 */
export function foldHosts(names: Iterable<string>): string {
  const groups = groupedBy([...new Set(names)].map(numbered), ({ literals }) => literals.join("\0"));
  return [...groups.values()].flatMap(foldGroup).join(",");
}

function numbered(name: string): Numbered {
  const literals: string[] = [];
  const digits: string[] = [];
  let end = 0;
  for (const match of name.matchAll(/\d+/g)) {
    if (match[0].length <= MAX_DIGITS) {
      literals.push(name.slice(end, match.index));
      digits.push(match[0]);
      end = match.index + match[0].length;
    }
  }
  return { literals: [...literals, name.slice(end)], digits };
}

/** Folds names that differ only in their numbers. */
function foldGroup(group: readonly Numbered[]): string[] {
  const [{ literals, digits: firstDigits }] = group as readonly [Numbered, ...Numbered[]];
  const widths = firstDigits.map(
    (_none, place) =>
      new Set(
        group
          .map(({ digits }) => digits[place] ?? "")
          .filter(isPadded)
          .map((digits) => digits.length),
      ),
  );
  const widthOf = (digits: string, place: number): number => (widths[place]?.has(digits.length) ? digits.length : 0);
  let rows: Places[] = group.map(({ digits }) => digits);
  for (let place = firstDigits.length - 1; place >= 0; place -= 1) {
    const digitsAt = (row: Places) => row[place] ?? "";
    const alike = groupedBy(rows, (row) => row.with(place, `:${widthOf(digitsAt(row), place)}`).join("\0"));
    rows = [...alike.values()].map((same) =>
      (same[0] as Places).with(place, bracketOf(same.map(digitsAt), widthOf(digitsAt(same[0] as Places), place))),
    );
  }
  return rows.map((row) => literals.map((literal, place) => literal + (row[place] ?? "")).join(""));
}

function bracketOf(digits: readonly string[], width: number): string {
  const numbers = digits.map(Number).sort((a, b) => a - b);
  const intervals: { first: number; last: number }[] = [];
  for (const number of numbers) {
    const previous = intervals.at(-1);
    if (previous?.last === number - 1) {
      previous.last = number;
    } else {
      intervals.push({ first: number, last: number });
    }
  }
  const text = intervals.map(({ first, last }) =>
    [...new Set([first, last])].map((number) => String(number).padStart(width, "0")).join("-"),
  );
  return numbers.length === 1 ? text.join() : `[${text.join(",")}]`;
}

function groupedBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) {
      groups.set(key, [item]);
    } else {
      group.push(item);
    }
  }
  return groups;
}

/**
 * Returns whether a string is valid as a compute host's name. The name must fit Nova's column and is used as a folder
 * name and in tables. A percent sign would be an escape in the hypervisor's URL.
 */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}
