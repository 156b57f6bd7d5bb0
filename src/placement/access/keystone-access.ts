import type { Clock } from "../../runtime/clock.js";
import { type HttpClient, HttpConnectFailure, type HttpResponse, HttpTimeout } from "../../runtime/http.js";
import { ConnectFailure, DiscoveryFailure, EndpointNotFound, Unauthorized } from "../errors.js";
import { asRecord, asString, parseJson } from "../json.js";
import { CachedAccess, type Lease } from "./cached-access.js";
import { catalogEndpoints, isInRegion, tokensUrl } from "./identity-v3.js";
import { type PlacementAccess, withoutTrailingSlash } from "./placement-access.js";

/** The options of a `[placement]` section with `auth_type = password`. */
export interface KeystoneOptions {
  /** With or without `/v3`. */
  readonly authUrl: string;
  readonly username: string;
  readonly password: string;
  readonly userDomain: Domain;
  readonly scope:
    | { readonly projectName: string; readonly projectDomain: Domain }
    | { readonly projectId: string }
    | { readonly system: "all" };
  /** Tried in this order; Nova's default is internal, then public. */
  readonly validInterfaces: readonly string[];
  readonly regionName?: string;
  /** Used instead of the catalog. */
  readonly endpointOverride?: string;
}

export type Domain = { readonly id: string } | { readonly name: string };

/** Identity v3 password tokens, and the endpoint from the token's catalog. */
export function createKeystoneAccess(
  doors: { readonly http: HttpClient; readonly clock: Clock },
  options: KeystoneOptions,
): PlacementAccess {
  return new CachedAccess(doors.clock, async () => {
    const url = tokensUrl(options.authUrl);
    const answer = await post(doors.http, url, JSON.stringify(tokenRequest(options)));
    if (answer.status === 401) {
      throw new Unauthorized(
        `Identity at ${url} refused user ${options.username}; check username, password, project_name and the domains in [placement]`,
      );
    }
    const token = answer.headers["x-subject-token"];
    if (answer.status !== 201 || token === undefined) {
      throw new DiscoveryFailure(
        `Identity at ${url} answered ${answer.status} where 201 with a token was expected; check auth_url in [placement]`,
      );
    }
    return readToken(answer.body, token, options);
  });
}

async function post(http: HttpClient, url: string, body: string): Promise<HttpResponse> {
  try {
    const headers = { accept: "application/json", "content-type": "application/json" };
    return await http.request({ method: "POST", url, headers, body });
  } catch (error) {
    if (error instanceof HttpConnectFailure || error instanceof HttpTimeout) {
      throw new ConnectFailure(`no token from Identity: ${error.message}`, undefined, { cause: error });
    }
    throw error;
  }
}

function tokenRequest(options: KeystoneOptions): unknown {
  const { username, password, userDomain, scope } = options;
  return {
    auth: {
      identity: { methods: ["password"], password: { user: { name: username, password, domain: userDomain } } },
      scope:
        "system" in scope
          ? { system: { all: true } }
          : {
              project:
                "projectId" in scope
                  ? { id: scope.projectId }
                  : { name: scope.projectName, domain: scope.projectDomain },
            },
    },
  };
}

function readToken(body: string, value: string, options: KeystoneOptions): Lease {
  const token = asRecord(asRecord(parseJson(body)).token);
  return {
    endpoint: withoutTrailingSlash(options.endpointOverride ?? placementIn(token.catalog, options)),
    headers: { "x-auth-token": value },
    expiresAt: timeIn(token.expires_at),
  };
}

/** Only parses: what time it is, the clock says. */
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
