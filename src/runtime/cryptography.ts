import { timingSafeEqual } from "node:crypto";

/** A source of randomness. The virtual implementation derives all of it from one seed. */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number;
  /** Returns an integer in [low, high], both included. */
  integer(low: number, high: number): number;
  /** Returns a version 4 UUID, lower case with hyphens. */
  uuid(): string;
  /**
   * Returns `bytes` random bytes as lower-case hex. In the Node implementation it is cryptographically strong, for
   * tokens and passwords.
   */
  hex(bytes: number): string;
}

/** A digest over bytes that arrive in parts. */
interface RunningDigest {
  update(bytes: Uint8Array): void;
  /** Returns lower-case hex. May be called once. */
  hex(): string;
}

/**
 * One-way functions over UTF-8 strings and bytes. Pure: every implementation returns the same output for the same
 * input.
 */
export interface Digests {
  /** Returns lower-case hex. */
  sha224(text: string): string;
  /** Returns lower-case hex. */
  sha256(text: string): string;
  /** Returns 32 bytes in lower-case hex. Deliberately slow, for passwords that users chose. */
  scrypt(password: string, salt: string): Promise<string>;
  /** Creates a digest over bytes that arrive in parts. */
  running(algorithm: "md5" | "sha512"): RunningDigest;
}

/** A private key with its public key or certificate. */
export interface MadeKey {
  /** PEM of an SSH key; for Windows, base64 of PKCS#12 with the certificate. */
  readonly privateKey: string;
  /** A line in OpenSSH format, or a certificate as PEM. */
  readonly publicKey: string;
}

/** Generates RSA keys of 2048 bits. Generation is slow but does not block the event loop. */
export interface KeyMaker {
  ssh(comment: string): Promise<MadeKey>;
  /**
   * Generates a key with a certificate for user logins. It is valid for ten years from `now`, in milliseconds since the
   * epoch.
   */
  x509(userId: string, now: number): Promise<MadeKey>;
  /**
   * Returns the SHA-1 of a PEM certificate as pairs of lower-case hex digits with colons, or undefined if it is not a
   * certificate.
   */
  certificateFingerprint(certificate: string): string | undefined;
}

/** Compares strings in a time that depends only on their lengths, so that a token cannot be guessed character by character. */
export function equalInConstantTime(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
