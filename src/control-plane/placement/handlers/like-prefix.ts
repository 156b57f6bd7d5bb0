/**
 * Whether a text begins as SQL's `LIKE '<prefix>%'` has it: `_` is any character, `%` any number of them, letter case does
 * not matter. Each further `%` makes the ones before it final, so that no prefix takes longer than its length times the
 * text's.
 */
export function beginsLike(text: string, prefix: string): boolean {
  const characters = text.toLowerCase();
  const pattern = prefix.toLowerCase();
  let at = 0;
  let retryAt = 0;
  let retryNext = -1;
  for (let next = 0; next < pattern.length; ) {
    if (pattern[next] === "%") {
      next += 1;
      retryNext = next;
      retryAt = at;
    } else if (at < characters.length && (pattern[next] === "_" || pattern[next] === characters[at])) {
      next += 1;
      at += 1;
    } else if (retryNext >= 0 && retryAt < characters.length) {
      retryAt += 1;
      at = retryAt;
      next = retryNext;
    } else {
      return false;
    }
  }
  return true;
}
