/**
 * The base of errors whose message every user may read. The message of any other error may contain a secret, such as a
 * URL with a password.
 */
export class PublicError extends Error {
  /** The part of the error that a user may read. */
  get publicMessage(): string {
    return this.message || this.name;
  }
}

/** Returns the message of an error, or the text of anything else that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Returns the message of a {@link PublicError}, or the class name of any other error. */
export function publicMessageOf(error: unknown): string {
  return error instanceof PublicError ? error.publicMessage : classNameOf(error);
}

/** Returns the message of an error, or any other thrown value as text. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function classNameOf(error: unknown): string {
  if (!(error instanceof Error)) {
    return "Error";
  }
  return error.name === "Error" ? error.constructor.name : error.name;
}

/**
 * Returns the stacks of an error and of its causes, which only administrators may read; null for a value that is not an
 * Error.
 */
export function tracebackOf(error: unknown): string | null {
  const stacks = stacksOf(error, MAX_CAUSES);
  return stacks.length === 0 ? null : stacks.join("\nCaused by: ");
}

/** The chain of causes may be circular. */
const MAX_CAUSES = 10;

function stacksOf(error: unknown, limit: number): readonly string[] {
  if (!(error instanceof Error) || limit === 0) {
    return [];
  }
  const causes = error instanceof AggregateError ? error.errors : [error.cause];
  const own = error.stack || `${error.name}: ${error.message}`;
  return [own, ...causes.flatMap((cause) => stacksOf(cause, limit - 1))];
}

/** Returns the candidate closest to a mistyped name, if one is close enough. */
export function didYouMean(name: string, candidates: Iterable<string>): string | undefined {
  const most = Math.max(1, Math.floor(name.length / 3));
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of candidates) {
    if (Math.abs(name.length - candidate.length) > most) {
      continue;
    }
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance <= most && (!best || distance < best.distance)) {
      best = { candidate, distance };
    }
  }
  return best?.candidate;
}

/** Counts the letters to insert, delete, replace, or swap with their neighbour. */
function editDistance(from: string, to: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_value, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (before[j - 2] ?? 0) + 1 : replaced;
      next.push(Math.min(replaced, swapped, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

/** Control, format and separator characters: they move a terminal's cursor, change its state or hide output. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Like {@link UNSAFE}, but without line ends, tabs and colours, which this program writes itself. */
const UNSAFE_OR_OWN = new RegExp(String.raw`\x1b\[[\d;]*m|[\n\t]|${UNSAFE.source}`, "gu");

/**
 * Escapes external text (names, errors, logs) for a terminal, so that it cannot move the cursor or imitate other
 * output. Line ends, tabs and colours are preserved. Escapes are JSON's, so JSON stays valid.
 */
export function terminalText(text: string): string {
  return text.replaceAll(UNSAFE_OR_OWN, (found) =>
    found.length > 2 || found === "\n" || found === "\t" ? found : escaped(found),
  );
}

/** Like {@link terminalText}, for a value inside a line: line ends, tabs and colours are escaped as well. */
export function terminalValue(text: string): string {
  return text.replaceAll(UNSAFE, escaped);
}

function escaped(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    const code = character.charCodeAt(index);
    return SHORT[code] ?? `\\u${code.toString(16).padStart(4, "0")}`;
  }).join("");
}

const SHORT: Readonly<Record<number, string>> = { 9: "\\t", 10: "\\n", 13: "\\r" };
