import {
  type Credentials,
  catalogEndpoints,
  isInRegion,
  requestToken,
} from "../../placement-client/access/keystone-access.js";
import { withoutTrailingSlash } from "../../placement-client/access/placement-access.js";
import { asArray, asRecord, asString, parseJson } from "../../placement-client/json.js";
import type { HttpClient, HttpResponse } from "../../runtime/http.js";
import { AuditError, isAuditError, reachable } from "../errors.js";
import type { CloudConfig, ServiceType } from "./cloud-config.js";
import { type Send, ServiceClient, type ServiceRequest } from "./service-client.js";

/** The range of a service's microversions. The major is fixed, so only minors are compared. */
interface Range {
  readonly minimum: number;
  readonly maximum: number;
}

/**
 * The microversions that this client supports for a service. It uses `most`, or the service's maximum if that is lower
 * but at least `least`.
 */
interface Knows {
  readonly least: number;
  readonly most: number;
  /** The feature for which `least` is needed. */
  readonly because: string;
}

/** A token with the endpoints for which it is valid. */
interface Login {
  readonly token: string;
  /** Without a trailing slash; empty: a Network or Block Storage service that the catalog lacks. */
  readonly endpoints: Readonly<Record<ServiceType, string>>;
}

const SERVICES = ["compute", "placement"] as const satisfies readonly ServiceType[];

const REJECTION_HINTS: Readonly<Record<Credentials["kind"], string>> = {
  password: "rejected the user or the password (401); check username, password, the project and the domains",
  token: "rejected the token (401): it has expired or belongs to another cloud; get a new one",
  application_credential:
    "rejected the application credential (401); check its id and secret, and whether it has expired",
};

/** A cloud with an authenticated session. */
export interface Cloud {
  readonly name: string;
  readonly compute: ServiceClient;
  readonly placement: ServiceClient;
  /** Null if the catalog has no Network service. */
  readonly network: ServiceClient | null;
  /** Null if the catalog has no Block Storage service. */
  readonly blockStorage: ServiceClient | null;
}

/** The Network API has no microversions. */
const NO_MICROVERSION = 0;

/** 2.88 removed the totals of hypervisors, which the checks of inventories need. */
const COMPUTE: Knows = { least: 53, most: 87, because: "uuids of compute nodes" };

/** 1.39 changes queries only. */
const PLACEMENT: Knows = { least: 28, most: 38, because: "generations of consumers" };

/** 3.44 completes attachments; later ones change nothing that the audit reads. */
const BLOCK_STORAGE: Knows = { least: 27, most: 44, because: "attachments" };

/** Majors of the microversions, and the services' names in their header. */
const MICROVERSIONS: Readonly<Record<ServiceType, readonly [name: string, major: number] | null>> = {
  compute: ["compute", 2],
  placement: ["placement", 1],
  "block-storage": ["volume", 3],
  network: null,
};

/** Gets a token and negotiates microversions. @throws {AuditError} */
export async function openCloud(http: HttpClient, config: CloudConfig): Promise<Cloud> {
  const session = new Session(http, config);
  const [compute, placement, blockStorage] = await Promise.all([
    versionOf(session, "compute", COMPUTE),
    versionOf(session, "placement", PLACEMENT),
    session.has("block-storage").then((has) => (has ? versionOf(session, "block-storage", BLOCK_STORAGE) : null)),
  ]);
  return {
    name: config.name,
    compute: new ServiceClient("compute", compute, session.send),
    placement: new ServiceClient("placement", placement, session.send),
    network: (await session.has("network")) ? new ServiceClient("network", NO_MICROVERSION, session.send) : null,
    blockStorage: blockStorage === null ? null : new ServiceClient("block-storage", blockStorage, session.send),
  };
}

async function versionOf(session: Session, service: ServiceType, knows: Knows): Promise<number> {
  const response = await session.send(service, { method: "GET", path: "/" });
  const range = rangeIn(response);
  if (!range) {
    throw new AuditError(
      "UnexpectedAnswer",
      `the ${service} endpoint responded ${response.status}, expected its microversions; check the catalog's URL`,
    );
  }
  return negotiate(service, range, knows);
}

function rangeIn({ body }: HttpResponse): Range | undefined {
  try {
    const document = asRecord(parseJson(body));
    const entry = asRecord(document.version ?? asArray(document.versions)[0]);
    const [minimum, maximum] = [minorOf(entry.min_version), minorOf(entry.max_version ?? entry.version)];
    return minimum === undefined || maximum === undefined ? undefined : { minimum, maximum };
  } catch {
    return undefined;
  }
}

/** Uses one token for all requests, and gets a new one if a service rejects it. */
class Session {
  readonly #http: HttpClient;
  readonly #config: CloudConfig;
  #login: Promise<Login> | undefined;

  constructor(http: HttpClient, config: CloudConfig) {
    this.#http = http;
    this.#config = config;
  }

  /** Returns whether the cloud has the service. */
  async has(service: ServiceType): Promise<boolean> {
    return (await this.#current()).endpoints[service] !== "";
  }

  readonly send: Send = async (service, request) => {
    const login = this.#current();
    const response = await this.#ask(await login, service, request);
    if (response.status !== 401) {
      return response;
    }
    // The first rejected request triggers one login for all.
    if (this.#login === login) {
      this.#login = undefined;
    }
    const again = await this.#ask(await this.#current(), service, request);
    if (again.status !== 401) {
      return again;
    }
    throw new AuditError(
      "CloudRefused",
      `the ${service} service rejected the token of cloud ${this.#config.name} (401), though Identity issued it`,
      { status: 401 },
    );
  };

  #current(): Promise<Login> {
    this.#login ??= logIn(this.#http, this.#config);
    return this.#login;
  }

  #ask({ token, endpoints }: Login, service: ServiceType, request: ServiceRequest): Promise<HttpResponse> {
    const { method, path, version, body } = request;
    const microversions = MICROVERSIONS[service];
    // Catalogs contain the project's id in endpoints of Cinder and old Nova; the version document is one level up.
    const base = path === "/" ? endpoints[service].replace(/(\/v(?:2(?:\.1)?|3))\/.*$/, "$1") : endpoints[service];
    return reachable(
      this.#http.request({
        method,
        url: base + path,
        headers: {
          "x-auth-token": token,
          accept: "application/json",
          "user-agent": "compute-agent audit",
          ...(version === undefined || microversions === null
            ? {}
            : { "openstack-api-version": `${microversions[0]} ${microversions[1]}.${version}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      `the ${service} service of cloud ${this.#config.name}; check the catalog's URL, or choose another --os-interface`,
    );
  }
}

/** Logs in with Identity v3. @throws {AuditError} */
async function logIn(http: HttpClient, config: CloudConfig): Promise<Login> {
  const { credentials, scope } = config;
  const { url, status, token, body } = await reachable(
    requestToken(http, config.authUrl, credentials, scope),
    `Identity of cloud ${config.name}; check auth_url`,
  );
  const rejections: Readonly<Record<number, string>> = {
    401: `Identity at ${url} ${REJECTION_HINTS[credentials.kind]}`,
    403: `Identity at ${url} issued no token for these credentials (403); ask its operator`,
    404: `${url} responded 404: there is no Identity v3; check auth_url of cloud ${config.name}`,
  };
  const rejection = rejections[status];
  if (rejection !== undefined) {
    throw new AuditError("CloudRefused", rejection, { status });
  }
  if (token === undefined) {
    throw new AuditError("UnexpectedAnswer", `Identity at ${url} responded ${status}, expected 201 with a token`);
  }
  return { token, endpoints: endpointsIn(body, config, url) };
}

function endpointsIn(body: string, config: CloudConfig, url: string): Login["endpoints"] {
  try {
    const { catalog } = asRecord(asRecord(parseJson(body)).token);
    const [compute, placement] = SERVICES.map((service) => endpointOf(catalog, service, config));
    return {
      compute: compute ?? "",
      placement: placement ?? "",
      network: networkEndpointOf(catalog, config),
      "block-storage": blockStorageEndpointOf(catalog, config),
    };
  } catch (error) {
    if (isAuditError(error, "EndpointNotFound")) {
      throw error;
    }
    throw new AuditError("UnexpectedAnswer", `Identity at ${url} responded without a readable token`, { cause: error });
  }
}

/** Returns the endpoint of the Network service without the version, or an empty string if there is none. */
function networkEndpointOf(catalog: unknown, config: CloudConfig): string {
  const isKnown = config.endpoints.network !== undefined || catalogEndpoints(catalog, "network").length > 0;
  return isKnown ? endpointOf(catalog, "network", config).replace(/\/v2\.0$/, "") : "";
}

/** Types of Cinder's API v3 in catalogs. */
const BLOCK_STORAGE_TYPES = ["block-storage", "volumev3"];

/** Returns the endpoint of the Block Storage service, or an empty string if there is none. */
function blockStorageEndpointOf(catalog: unknown, config: CloudConfig): string {
  const type = BLOCK_STORAGE_TYPES.find((each) => catalogEndpoints(catalog, each).length > 0);
  const isKnown = config.endpoints["block-storage"] !== undefined || type !== undefined;
  return isKnown ? endpointOf(catalog, "block-storage", config, type) : "";
}

/** @param type of the service in the catalog */
function endpointOf(catalog: unknown, service: ServiceType, config: CloudConfig, type: string = service): string {
  const configuredUrl = config.endpoints[service];
  if (configuredUrl !== undefined) {
    return withoutTrailingSlash(configuredUrl);
  }
  if (catalog === undefined && config.credentials.kind !== "application_credential" && config.scope === undefined) {
    throw new AuditError(
      "EndpointNotFound",
      `cloud ${config.name}: the token has no catalog, since it is unscoped; set project_name, or system_scope to all`,
    );
  }
  const endpoints = catalogEndpoints(catalog, type);
  const here = endpoints.filter((endpoint) => isInRegion(endpoint, config.region));
  const found = here.find((endpoint) => endpoint.interface === config.interface);
  if (found) {
    return withoutTrailingSlash(asString(found.url));
  }
  const offered = endpoints.map((each) => `${String(each.interface)} in ${String(each.region ?? each.region_id)}`);
  throw new AuditError(
    "EndpointNotFound",
    `cloud ${config.name}: the catalog has no ${service} endpoint with interface ${config.interface}` +
      `${config.region === undefined ? "" : ` in region ${config.region}`}; it has ${offered.join(", ") || "none"}. ` +
      `Choose with --os-interface and --os-region-name, or set ${service.replace("-", "_")}_endpoint_override`,
  );
}

/** @throws {AuditError} the service is too old */
function negotiate(service: ServiceType, range: Range, knows: Knows): number {
  const agreed = Math.min(range.maximum, knows.most);
  if (agreed >= knows.least && range.minimum <= agreed) {
    return agreed;
  }
  const [, major = 0] = MICROVERSIONS[service] ?? [];
  throw new AuditError(
    "UnexpectedAnswer",
    `the ${service} service offers microversions ${major}.${range.minimum} to ${major}.${range.maximum}; ` +
      `at least ${major}.${knows.least} is needed (${knows.because})`,
  );
}

/** Returns the minor of `2.79`, or undefined for other values. */
function minorOf(text: unknown): number | undefined {
  const match = typeof text === "string" ? /^\d+\.(\d+)$/.exec(text) : null;
  return match ? Number(match[1]) : undefined;
}
