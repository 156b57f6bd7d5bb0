import type { HttpClient } from "../../runtime/http.js";
import { asArray, asRecord, parseJson } from "../json.js";
import { withoutTrailingSlash } from "./placement-access.js";

export type Credentials =
  | { readonly kind: "password"; readonly user: UserReference; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | {
      readonly kind: "application_credential";
      /** Its id, or its name with its user. */
      readonly id?: string;
      readonly name?: string;
      readonly user?: UserReference;
      readonly secret: string;
    };

export interface DomainReference {
  readonly id?: string;
  readonly name?: string;
}

/** An id, or a name with its domain. */
export interface UserReference {
  readonly id?: string;
  readonly name?: string;
  readonly domain?: DomainReference;
}

export type Scope =
  | { readonly kind: "project"; readonly id?: string; readonly name?: string; readonly domain?: DomainReference }
  | { readonly kind: "domain"; readonly domain: DomainReference }
  | { readonly kind: "system" };

/** What Identity v3 answered when it was asked for a token. */
export interface TokenResponse {
  readonly url: string;
  readonly status: number;
  /** Absent: it gave none. */
  readonly token: string | undefined;
  readonly body: string;
}

/**
 * Where version 3 is, as the service itself says; `authUrl` where it does not say, or would have a password sent without TLS that
 * was to be sent with it.
 * @param authUrl one that ends in `/v3` is taken as it is
 * @throws {HttpConnectFailure} {@link HttpTimeout}
 */
export async function discoverIdentity(http: HttpClient, authUrl: string): Promise<string> {
  const url = withoutTrailingSlash(authUrl);
  if (url.endsWith("/v3")) {
    return url;
  }
  const response = await http.request({ method: "GET", url, headers: { accept: "application/json" } });
  const found = versionThree(response.body, url);
  return found === null || (url.startsWith("https:") && !found.startsWith("https:")) ? url : found;
}

/** From the service's list of versions; null: it has none. */
function versionThree(body: string, url: string): string | null {
  try {
    const { versions } = asRecord(parseJson(body));
    const [version] = asArray(asRecord(versions).values)
      .map(asRecord)
      .filter(({ id }) => /^v3(\.|$)/.test(String(id)));
    const link = asArray(version?.links)
      .map(asRecord)
      .find(({ rel }) => rel === "self");
    const href = withoutTrailingSlash(new URL(String(link?.href), `${url}/`).href);
    return /\/v3$/.test(href) ? href : null;
  } catch {
    return null;
  }
}

/**
 * Asks for a token.
 * @param authUrl with or without `/v3`
 * @param scope absent: the one that the credentials bring along
 * @throws {HttpConnectFailure} {@link HttpTimeout}
 */
export async function requestToken(
  http: HttpClient,
  authUrl: string,
  credentials: Credentials,
  scope?: Scope,
): Promise<TokenResponse> {
  const url = `${withoutTrailingSlash(authUrl).replace(/\/v3$/, "")}/v3/auth/tokens`;
  const headers = { accept: "application/json", "content-type": "application/json" };
  const body = JSON.stringify(tokenRequest(credentials, scope));
  const response = await http.request({ method: "POST", url, headers, body });
  const token = response.status === 201 ? response.headers["x-subject-token"] : undefined;
  return { url, status: response.status, token, body: response.body };
}

function tokenRequest(credentials: Credentials, scope: Scope | undefined): unknown {
  return {
    auth: { identity: identityOf(credentials), ...(scope ? { scope: scopeOf(scope) } : {}) },
  };
}

function identityOf(credentials: Credentials): unknown {
  switch (credentials.kind) {
    case "password":
      return { methods: ["password"], password: { user: { ...credentials.user, password: credentials.password } } };
    case "token":
      return { methods: ["token"], token: { id: credentials.token } };
    case "application_credential": {
      const { kind, ...details } = credentials;
      return { methods: [kind], [kind]: details };
    }
  }
}

function scopeOf(scope: Scope): unknown {
  if (scope.kind === "system") {
    return { system: { all: true } };
  }
  const { kind, ...reference } = scope;
  return kind === "domain" ? reference : { project: reference };
}

/**
 * The endpoints that a token's catalog has for a type of service.
 * @param catalog undefined: the token is scoped to nothing
 * @throws {DiscoveryFailure} when it is no catalog
 */
export function catalogEndpoints(catalog: unknown, type: string): readonly Readonly<Record<string, unknown>>[] {
  return asArray(catalog ?? [])
    .map(asRecord)
    .filter((service) => service.type === type)
    .flatMap((service) => asArray(service.endpoints ?? []).map(asRecord));
}

/** Whether the endpoint is in the region. @param region undefined: any will do */
export function isInRegion(endpoint: Readonly<Record<string, unknown>>, region: string | undefined): boolean {
  return region === undefined || endpoint.region === region || endpoint.region_id === region;
}
