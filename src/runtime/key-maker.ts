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
