import type { Clock } from "../../runtime/clock.js";
import { type HttpClient, HttpConnectFailure, HttpTimeout, withoutUserInfo } from "../../runtime/http.js";
import { ConnectFailure, DiscoveryFailure, EndpointNotFound, Unauthorized } from "../errors.js";
import { asRecord, asString, parseJson } from "../json.js";
import { CachedAccess, type Lease } from "./cached-access.js";
import {
  catalogEndpoints,
  type DomainReference,
  isInRegion,
  requestToken,
  type Scope,
  type TokenAnswer,
} from "./identity-v3.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

/** The options of a `[placement]` section with `auth_type = password`. */
export interface KeystoneOptions {
  /** With or without `/v3`. */
  readonly authUrl: string;
  readonly username: string;
  readonly password: string;
  readonly userDomain: DomainReference;
  readonly scope: Scope;
  /** Tried in this order; Nova's default is internal, then public. */
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Used instead of the catalog. */
  readonly endpointOverride?: string;
}

/** Identity v3 password tokens, and the endpoint from the token's catalog. */
export function createKeystoneAccess(
  doors: { readonly http: HttpClient; readonly clock: Clock },
  options: KeystoneOptions,
): PlacementAccess {
  return new CachedAccess(doors.clock, async () => {
    const { url: asked, status, token, body } = await askForToken(doors.http, options);
    const url = withoutUserInfo(asked);
    if (status === 401) {
      throw new Unauthorized(
        `Identity at ${url} refused user ${options.username}; check username, password, project_name and the domains in [placement]`,
      );
    }
    if (token === undefined) {
      throw new DiscoveryFailure(
        `Identity at ${url} answered ${status} where 201 with a token was expected; check auth_url in [placement]`,
      );
    }
    return readToken(body, token, options);
  });
}

async function askForToken(http: HttpClient, options: KeystoneOptions): Promise<TokenAnswer> {
  const { authUrl, username, password, userDomain, scope } = options;
  const user = { name: username, domain: userDomain };
  try {
    return await requestToken(http, authUrl, { kind: "password", user, password }, scope);
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
    endpoint: withoutTrailingSlash(options.endpointOverride ?? placementIn(token.catalog, options)),
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

function placementIn(catalog: unknown, { validInterfaces, regionName }: KeystoneOptions): string {
  const endpoints = catalogEndpoints(catalog, "placement").filter((endpoint) => isInRegion(endpoint, regionName));
  for (const wanted of validInterfaces) {
    const found = endpoints.find((endpoint) => endpoint.interface === wanted);
    if (found) {
      return asString(found.url);
    }
  }
  throw new EndpointNotFound(
    `the catalog has no placement endpoint with interface ${validInterfaces.join(" or ")}` +
      `${regionName === undefined ? "" : ` in region ${regionName}`}; register one, or set endpoint_override in [placement]`,
  );
}
