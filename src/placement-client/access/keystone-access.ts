import { type HttpClient, HttpTimeout, hasNoResponse, withoutUserInfo } from "../../runtime/http.js";
import type { Clock } from "../../runtime/time.js";
import { PlacementError } from "../errors.js";
import { asArray, asRecord, asString, parseJson } from "../json.js";
import { CachedAccess, type Lease, type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

export type Credentials =
  | { readonly kind: "password"; readonly user: UserReference; readonly password: string }
  | { readonly kind: "token"; readonly token: string }
  | {
      readonly kind: "application_credential";
      /** Either the id, or the name with its user. */
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

/** The response of Identity v3 to a token request. */
interface TokenResponse {
  readonly url: string;
  readonly status: number;
  /** Absent if there is none. */
  readonly token: string | undefined;
  readonly body: string;
}

/** The options of a section such as `[placement]` whose `auth_type` uses Identity. */
export interface KeystoneOptions {
  /** With or without `/v3`. */
  readonly authUrl: string;
  /** Whether to request the list of versions from a URL without a version, as keystoneauth's `password` does. */
  readonly discover: boolean;
  readonly credentials: Credentials;
  /** The service's type in the catalog, and the section of nova.conf that may override its endpoint. */
  readonly service: { readonly type: string; readonly section: string };
  /** Absent: the scope included in the credentials. */
  readonly scope?: Scope;
  /** Tried in this order; Nova's default is internal, then public. */
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Used instead of the catalog. */
  readonly endpointOverride?: string;
}

/** Provides Identity v3 tokens, and the endpoint from the token's catalog. */
export function createKeystoneAccess(
  deps: { readonly http: HttpClient; readonly clock: Clock },
  options: KeystoneOptions,
): PlacementAccess {
  return new CachedAccess(deps.clock, async () => {
    const { url: tokenUrl, status, token, body } = await askForToken(deps.http, options);
    const url = withoutUserInfo(tokenUrl);
    if (status === 401) {
      throw new PlacementError(
        "Unauthorized",
        `Identity at ${url} rejected ${described(options.credentials)} in [placement]`,
      );
    }
    if (token === undefined) {
      throw new PlacementError(
        "DiscoveryFailure",
        `Identity at ${url} responded with ${status} instead of 201 and a token; check auth_url in [placement]`,
      );
    }
    return readToken(body, token, options);
  });
}

function described(credentials: Credentials): string {
  return credentials.kind === "password"
    ? `user ${credentials.user.name ?? credentials.user.id}; check username, password, project_name and the domains`
    : "the application credential; check its id and secret, and whether it has expired,";
}

async function askForToken(http: HttpClient, options: KeystoneOptions): Promise<TokenResponse> {
  const { authUrl, discover, credentials, scope } = options;
  try {
    const versioned = discover ? await discoverIdentity(http, authUrl) : authUrl;
    return await requestToken(http, versioned, credentials, scope);
  } catch (error) {
    if (hasNoResponse(error)) {
      throw new PlacementError("ConnectFailure", `no token from Identity: ${error.message}`, undefined, {
        cause: error,
      });
    }
    throw error;
  }
}

function readToken(body: string, value: string, options: KeystoneOptions): Lease {
  const token = asRecord(asRecord(parseJson(body)).token);
  return {
    endpoint: withoutTrailingSlash(options.endpointOverride ?? endpointIn(token.catalog, options)),
    headers: { "x-auth-token": value },
    expiresAt: timeIn(token.expires_at),
  };
}

/** Date is only used for parsing here; the current time comes from the clock. */
function timeIn(value: unknown): number {
  const milliseconds = Date.parse(asString(value));
  if (Number.isNaN(milliseconds)) {
    throw new PlacementError(
      "DiscoveryFailure",
      `Identity issued a token with the invalid expiry time ${asString(value)}`,
    );
  }
  return milliseconds;
}

function endpointIn(catalog: unknown, { service, validInterfaces, regionName }: KeystoneOptions): string {
  const endpoints = catalogEndpoints(catalog, service.type).filter((endpoint) => isInRegion(endpoint, regionName));
  for (const interfaceName of validInterfaces) {
    const found = endpoints.find((endpoint) => endpoint.interface === interfaceName);
    if (found) {
      return asString(found.url);
    }
  }
  throw new PlacementError(
    "EndpointNotFound",
    `the catalog has no ${service.type} endpoint with interface ${validInterfaces.join(" or ")}` +
      `${regionName === undefined ? "" : ` in region ${regionName}`}; register one, or set endpoint_override in [${service.section}]`,
  );
}

/**
 * Returns the URL of version 3 according to the service. Returns `authUrl` if the service does not list it, or if the
 * listed URL would send the password without TLS although `authUrl` uses TLS.
 * @param authUrl used unchanged if it ends in `/v3`
 * @throws {HttpConnectFailure} {@link HttpTimeout}
 * @internal
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

/** Returns the URL from the service's list of versions; null if it is not listed. */
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
 * Requests a token.
 * @param authUrl with or without `/v3`
 * @param scope absent: the scope included in the credentials
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
 * Returns the endpoints of a type of service in a token's catalog.
 * @param catalog undefined for an unscoped token
 * @throws {DiscoveryFailure} when it is not a catalog
 */
export function catalogEndpoints(catalog: unknown, type: string): readonly Readonly<Record<string, unknown>>[] {
  return asArray(catalog ?? [])
    .map(asRecord)
    .filter((service) => service.type === type)
    .flatMap((service) => asArray(service.endpoints ?? []).map(asRecord));
}

/**
 * Returns whether the endpoint is in the region.
 * @param region undefined: any region
 */
export function isInRegion(endpoint: Readonly<Record<string, unknown>>, region: string | undefined): boolean {
  return region === undefined || endpoint.region === region || endpoint.region_id === region;
}
