/** A digest of bytes that come in parts. */
interface RunningDigest {
  update(bytes: Uint8Array): void;
  /** Lower-case hex; once. */
  hex(): string;
}

/** One-way functions over UTF-8 text and bytes. Pure: equal input gives equal output, in every implementation. */
export interface Digests {
  /** Lower-case hex. */
  sha224(text: string): string;
  /** Lower-case hex. */
  sha256(text: string): string;
  /** A digest that is slow to make on purpose, of a password that a person chose: 32 bytes in lower-case hex. */
  scrypt(password: string, salt: string): Promise<string>;
  /** The digest of bytes that come piece by piece. */
  running(algorithm: "md5" | "sha512"): RunningDigest;
}
