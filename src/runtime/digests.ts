/** One-way functions over UTF-8 text. Pure: equal input gives equal output, in every implementation. */
export interface Digests {
  /** Lower-case hex. */
  sha224(text: string): string;
  /** Lower-case hex. */
  sha256(text: string): string;
}
