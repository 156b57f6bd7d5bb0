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
