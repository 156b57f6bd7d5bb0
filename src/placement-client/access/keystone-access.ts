import type { Clock } from "../../runtime/clock.js";
import { type HttpClient, HttpConnectFailure, HttpTimeout, withoutUserInfo } from "../../runtime/http.js";
import { ConnectFailure, DiscoveryFailure, EndpointNotFound, Unauthorized } from "../errors.js";
import { asRecord, asString, parseJson } from "../json.js";
import { CachedAccess, type Lease } from "./cached-access.js";
import {
  type Credentials,
  catalogEndpoints,
  discoverIdentity,
  isInRegion,
  requestToken,
  type Scope,
  type TokenResponse,
} from "./identity-v3.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

/** The options of a `[placement]` section whose `auth_type` is one of Identity's. */
export interface KeystoneOptions {
  /** With or without `/v3`. */
  readonly authUrl: string;
  /** An address without version is asked for its versions, as keystoneauth's `password` does. */
  readonly discover: boolean;
  readonly credentials: Credentials;
  /** What is looked for in the catalog, and the section of nova.conf that may say where it is. */
  readonly service: { readonly type: string; readonly section: string };
  /** Absent: the one that the credentials bring along. */
  readonly scope?: Scope;
  /** Tried in this order; Nova's default is internal, then public. */
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Used instead of the catalog. */
  readonly endpointOverride?: string;
}

/** Identity v3 tokens, and the endpoint from the token's catalog. */
export function createKeystoneAccess(
  deps: { readonly http: HttpClient; readonly clock: Clock },
  options: KeystoneOptions,
): PlacementAccess {
  return new CachedAccess(deps.clock, async () => {
    const { url: tokenUrl, status, token, body } = await askForToken(deps.http, options);
    const url = withoutUserInfo(tokenUrl);
    if (status === 401) {
      throw new Unauthorized(`Identity at ${url} refused ${described(options.credentials)} in [placement]`);
    }
    if (token === undefined) {
      throw new DiscoveryFailure(
        `Identity at ${url} answered ${status} where 201 with a token was expected; check auth_url in [placement]`,
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
    if (error instanceof HttpConnectFailure || error instanceof HttpTimeout) {
      throw new ConnectFailure(`no token from Identity: ${error.message}`, undefined, { cause: error });
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

/** Date only parses here; the clock says what time it is. */
function timeIn(value: unknown): number {
  const milliseconds = Date.parse(asString(value));
  if (Number.isNaN(milliseconds)) {
    throw new DiscoveryFailure(`Identity answered a token that expires at ${asString(value)}, which is no time`);
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
  throw new EndpointNotFound(
    `the catalog has no ${service.type} endpoint with interface ${validInterfaces.join(" or ")}` +
      `${regionName === undefined ? "" : ` in region ${regionName}`}; register one, or set endpoint_override in [${service.section}]`,
  );
}
