/** Where Placement is and what lets a request in. */
export interface Credentials {
  /** Without a trailing slash. */
  readonly endpoint: string;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** How the client gets at Placement: one implementation for each kind of authentication. */
export interface PlacementAccess {
  /**
   * Cached as long as it is good.
   * @throws {PlacementAPIConnectFailure} of the kind that tells why there is none
   */
  credentials(signal?: AbortSignal): Promise<Credentials>;
  /** Placement refused what {@link credentials} gave last: get another. */
  expire(): void;
}

export const withoutTrailingSlash = (url: string): string => url.replace(/\/+$/, "");
