/** Compares in a time that depends on the lengths only, so that a token cannot be guessed letter by letter. */
export function equalInConstantTime(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index % (other.length || 1));
  }
  return difference === 0;
}
