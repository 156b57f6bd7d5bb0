/** The rule for names of compute hosts, as a pattern with the flag `u`: it stands in schemas too. */
export const HOST_NAME_PATTERN = String.raw`^(?!\.{1,2}$)[^\p{C}\p{Z}/\\%]{1,255}$`;

/** The rule in words, behind "expected". */
export const HOST_NAME_RULE =
  "a host name: 1 to 255 printable characters without spaces, slashes and percent signs, other than . and ..";

const HOST_NAME = new RegExp(HOST_NAME_PATTERN, "u");

/** Names that one text may stand for. */
export const MAX_HOSTS = 10_000;

/** Digits of a number in brackets: more are not counted exactly. */
const MAX_DIGITS = 15;

/** A text that stands for no hosts; the message names the place. */
export class HostRangeError extends Error {
  override readonly name = "HostRangeError";
}

/** What a bracket, or the text between two, stands for. */
type Piece = string | readonly Interval[];

interface Interval {
  readonly first: number;
  readonly last: number;
  /** Digits to which numbers are filled up with zeros. */
  readonly width: number;
}

/**
 * The names of `a,b,rack[01-20]-node[1-3,7]`, in the order of the text, each once. The first bracket counts slowest;
 * numbers keep the zeros of the range's first.
 * @throws {HostRangeError} not such a text, a name that no host may have, or more than {@link MAX_HOSTS} names.
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

/** The text between commas that stand outside of brackets. */
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
        `${quoted(text)}: found ${quoted(piece[unmatchedIndex] ?? "")} at character ${place} without its other half, expected pairs of [ and ], not nested`,
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

/** @param at where the bracket's text begins, from 1 */
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
      return rejectItem("as many digits at both ends of a range that is filled up with zeros");
    }
    const interval = { first: Number(from), last: Number(to), width: padded ? from.length : 0 };
    if (interval.last < interval.first) {
      return rejectItem("a range that does not run backwards");
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

/** A name's numbers, of the width that they share with others of its pattern. */
interface Numbered {
  /** What stands around the numbers. */
  readonly literals: readonly string[];
  readonly digits: readonly string[];
}

/** Folded in some of its places: a place is a number's digits, or a bracket. */
type Places = readonly string[];

/**
 * The names as a text of ranges, for people: `rack[01-20]-node[001-050]`. {@link expandHosts} makes the same names of it, in an
 * order by number.
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

/** Names that differ in their numbers alone. */
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
 * Whether a compute host may be called so: the name has to fit Nova's column, becomes a folder's name, and is printed
 * in many tables; a percent sign would be read as an escape in the hypervisor's address.
 */
export function isHostName(text: string): boolean {
  return HOST_NAME.test(text);
}
