/**
 * Whether a text begins as SQL's `LIKE '<prefix>%'` has it: `_` is any character, `%` any number of them, letter case does
 * not matter. Each further `%` makes the ones before it final, so that no prefix takes longer than its length times the
 * text's.
 */
export function beginsLike(text: string, prefix: string): boolean {
  const characters = text.toLowerCase();
  const wanted = prefix.toLowerCase();
  let at = 0;
  let retryAt = 0;
  let retryWanted = -1;
  for (let next = 0; next < wanted.length; ) {
    if (wanted[next] === "%") {
      next += 1;
      retryWanted = next;
      retryAt = at;
    } else if (at < characters.length && (wanted[next] === "_" || wanted[next] === characters[at])) {
      next += 1;
      at += 1;
    } else if (retryWanted >= 0 && retryAt < characters.length) {
      retryAt += 1;
      at = retryAt;
      next = retryWanted;
    } else {
      return false;
    }
  }
  return true;
}
