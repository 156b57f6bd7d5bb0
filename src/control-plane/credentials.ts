/** The authenticated sender of a request. */
export interface Credentials {
  readonly userId: string;
  readonly userName: string;
  readonly projectId: string | null;
  readonly projectName: string | null;
  /** The user's domain. */
  readonly domainId: string;
  /** Id of the domain of a domain-scoped token. */
  readonly domainScope?: string | null;
  /** Role names in lower case: `admin`, `member`, `reader`, `service`. */
  readonly roles: readonly string[];
  /** `all` for system-scoped tokens. */
  readonly systemScope: "all" | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Validates a token for an embedded service; returns undefined if it is unknown, forged, revoked or expired. */
export type ValidateToken = (token: string) => Credentials | undefined;

/** Compares strings in a time that depends only on their lengths, so that a token cannot be guessed character by character. */
export function equalInConstantTime(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index % (other.length || 1));
  }
  return difference === 0;
}
