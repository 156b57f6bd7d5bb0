import {
  type Credentials,
  catalogEndpoints,
  isInRegion,
  requestToken,
} from "../../placement-client/access/keystone-access.js";
import { withoutTrailingSlash } from "../../placement-client/access/placement-access.js";
import { asRecord, asString, parseJson } from "../../placement-client/json.js";
import type { HttpClient } from "../../runtime/http.js";
import type { CloudConfig, ServiceType } from "./cloud-config.js";
import { CloudRejectedError, EndpointNotFound, UnexpectedResponseError } from "./errors.js";
import { reachable } from "./reachable.js";

/** A token, and where it is good for. */
export interface Login {
  readonly token: string;
  /** Without a trailing slash. */
  readonly endpoints: Readonly<Record<ServiceType, string>>;
}

const SERVICES = ["compute", "placement"] as const satisfies readonly ServiceType[];

/** Identity v3. @throws {CloudError} */
export async function logIn(http: HttpClient, config: CloudConfig): Promise<Login> {
  const { credentials, scope } = config;
  const { url, status, token, body } = await reachable(
    requestToken(http, config.authUrl, credentials, scope),
    `Identity of cloud ${config.name}; check auth_url`,
  );
  if (status === 401) {
    throw new CloudRejectedError(401, `Identity at ${url} ${REJECTION_HINTS[credentials.kind]}`);
  }
  if (status === 404) {
    throw new CloudRejectedError(
      404,
      `${url} answered 404: no Identity v3 there; check auth_url of cloud ${config.name}`,
    );
  }
  if (status === 403) {
    throw new CloudRejectedError(
      403,
      `Identity at ${url} refuses a token (403) to these credentials; ask whoever runs it`,
    );
  }
  if (token === undefined) {
    throw new UnexpectedResponseError(`Identity at ${url} answered ${status} where 201 with a token was expected`);
  }
  return { token, endpoints: endpointsIn(body, config, url) };
}

const REJECTION_HINTS: Readonly<Record<Credentials["kind"], string>> = {
  password: "refused the user or the password (401); check username, password, the project and the domains",
  token: "refused the token (401): it has expired or was never one of this cloud; get a new one",
  application_credential:
    "refused the application credential (401); check its id and secret, and whether it has expired",
};

function endpointsIn(body: string, config: CloudConfig, url: string): Login["endpoints"] {
  try {
    const { catalog } = asRecord(asRecord(parseJson(body)).token);
    const [compute, placement] = SERVICES.map((service) => endpointOf(catalog, service, config));
    return { compute: compute ?? "", placement: placement ?? "" };
  } catch (error) {
    if (error instanceof EndpointNotFound) {
      throw error;
    }
    throw new UnexpectedResponseError(`Identity at ${url} answered no token that can be read`, { cause: error });
  }
}

function endpointOf(catalog: unknown, service: ServiceType, config: CloudConfig): string {
  const configuredUrl = config.endpoints[service];
  if (configuredUrl !== undefined) {
    return withoutTrailingSlash(configuredUrl);
  }
  if (catalog === undefined && config.credentials.kind !== "application_credential" && config.scope === undefined) {
    throw new EndpointNotFound(
      `cloud ${config.name}: the token has no catalog, as it is scoped to nothing; set project_name, or system_scope to all`,
    );
  }
  const endpoints = catalogEndpoints(catalog, service);
  const here = endpoints.filter((endpoint) => isInRegion(endpoint, config.region));
  const found = here.find((endpoint) => endpoint.interface === config.interface);
  if (found) {
    return withoutTrailingSlash(asString(found.url));
  }
  const offered = endpoints.map((each) => `${String(each.interface)} in ${String(each.region ?? each.region_id)}`);
  throw new EndpointNotFound(
    `cloud ${config.name}: the catalog has no ${service} endpoint with interface ${config.interface}` +
      `${config.region === undefined ? "" : ` in region ${config.region}`}; it has ${offered.join(", ") || "none"}. ` +
      `Choose with --os-interface and --os-region-name, or set ${service}_endpoint_override`,
  );
}
