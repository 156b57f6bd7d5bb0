/** Randomness. The virtual implementation draws all of it from one seed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** An integer in [low, high], both included. */
  integer(low: number, high: number): number;
  /** A version 4 UUID, lower case with hyphens. */
  uuid(): string;
  /** `bytes` random bytes as lower-case hex. For tokens and passwords the node implementation is cryptographically strong. */
  hex(bytes: number): string;
}

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

/** A private key, and what others may know of it. */
export interface MadeKey {
  /** PEM of a key for SSH; base64 of PKCS#12 with the certificate, for Windows. */
  readonly privateKey: string;
  /** A line of OpenSSH, or a certificate as PEM. */
  readonly publicKey: string;
}

/** RSA keys of 2048 bits, which nobody else has. Making one takes a while, and holds nobody up. */
export interface KeyMaker {
  ssh(comment: string): Promise<MadeKey>;
  /** With a certificate that a user logs in with, for ten years from now, which is in milliseconds since the epoch. */
  x509(userId: string, now: number): Promise<MadeKey>;
  /** SHA-1 of a certificate as PEM, in pairs of lower-case hex digits with colons; undefined: it is none. */
  certificateFingerprint(certificate: string): string | undefined;
}
