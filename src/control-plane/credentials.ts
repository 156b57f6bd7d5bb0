/** The sender of a request, as the embedded Identity vouches for it. */
export interface Credentials {
  readonly userId: string;
  readonly userName: string;
  readonly projectId: string | null;
  readonly projectName: string | null;
  /** The user's domain. */
  readonly domainId: string;
  /** The id of the domain that the token counts for. */
  readonly domainScope?: string | null;
  /** Names in lower case: `admin`, `member`, `reader`, `service`. */
  readonly roles: readonly string[];
  /** `all` for system-scoped tokens. */
  readonly systemScope: "all" | null;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What each embedded service asks the Identity service; undefined: unknown, forged, revoked or expired. */
export type ValidateToken = (token: string) => Credentials | undefined;

/** Compares in a time that depends on the lengths only, so that a token cannot be guessed letter by letter. */
export function equalInConstantTime(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let index = 0; index < one.length; index += 1) {
    difference |= one.charCodeAt(index) ^ other.charCodeAt(index % (other.length || 1));
  }
  return difference === 0;
}
