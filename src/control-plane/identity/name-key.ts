/**
 * Returns the part of a text by which Keystone's database compares it: MySQL's collation `utf8_general_ci` ignores case,
 * the accents of Latin and Greek letters, and spaces at the end. Two texts are equal for Keystone if their keys are equal.
 */
export function nameKey(text: string): string {
  return Array.from(text.replace(/ +$/, ""), letterWeight).join("");
}

export function isSameName(one: string | null | undefined, other: string | null | undefined): boolean {
  return one == null || other == null ? (one ?? null) === (other ?? null) : nameKey(one) === nameKey(other);
}

function letterWeight(letter: string): string {
  const [base = letter] = letter.normalize("NFD");
  const [upper = letter] = (/[\p{Script=Latin}\p{Script=Greek}]/u.test(base) ? base : letter).toUpperCase();
  return upper;
}
