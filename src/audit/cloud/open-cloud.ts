import { asArray, asRecord, parseJson } from "../../placement-client/json.js";
import type { HttpClient, HttpResponse } from "../../runtime/http.js";
import type { CloudConfig, ServiceType } from "./cloud-config.js";
import { CloudRejectedError, UnexpectedResponseError } from "./errors.js";
import { type Login, logIn } from "./keystone.js";
import { type Knows, minorOf, negotiate, type Range } from "./microversion.js";
import { reachable } from "./reachable.js";
import { type Send, ServiceClient, type ServiceRequest } from "./service-client.js";

/** A cloud that has let us in. */
export interface Cloud {
  readonly name: string;
  readonly compute: ServiceClient;
  readonly placement: ServiceClient;
}

/** 2.88 took the totals of hypervisors away, which the judgement of inventories needs. */
const COMPUTE: Knows = { least: 53, most: 87, because: "uuids of compute nodes" };
/** 1.39 changes queries only. */
const PLACEMENT: Knows = { least: 28, most: 38, because: "generations of consumers" };

/** Gets a token and agrees on microversions. @throws {CloudError} */
export async function openCloud(http: HttpClient, config: CloudConfig): Promise<Cloud> {
  const session = new Session(http, config);
  const [compute, placement] = await Promise.all([
    versionOf(session, "compute", 2, COMPUTE),
    versionOf(session, "placement", 1, PLACEMENT),
  ]);
  return {
    name: config.name,
    compute: new ServiceClient("compute", compute, session.send),
    placement: new ServiceClient("placement", placement, session.send),
  };
}

async function versionOf(session: Session, service: ServiceType, major: number, knows: Knows): Promise<number> {
  const response = await session.send(service, { method: "GET", path: "/" });
  const range = rangeIn(response);
  if (!range) {
    throw new UnexpectedResponseError(
      `the ${service} endpoint answered ${response.status} where its microversions were expected; check the catalog's URL`,
    );
  }
  return negotiate(`the ${service} service`, major, range, knows);
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

/** One token for all requests; another one once a service refuses it. */
class Session {
  readonly #http: HttpClient;
  readonly #config: CloudConfig;
  #login: Promise<Login> | undefined;

  constructor(http: HttpClient, config: CloudConfig) {
    this.#http = http;
    this.#config = config;
  }

  readonly send: Send = async (service, request) => {
    const login = this.#current();
    const response = await this.#ask(await login, service, request);
    if (response.status !== 401) {
      return response;
    }
    // The first request that is refused logs in again for all.
    if (this.#login === login) {
      this.#login = undefined;
    }
    const again = await this.#ask(await this.#current(), service, request);
    if (again.status !== 401) {
      return again;
    }
    throw new CloudRejectedError(
      401,
      `the ${service} service does not accept the token of cloud ${this.#config.name} (401), though Identity gave it`,
    );
  };

  #current(): Promise<Login> {
    this.#login ??= logIn(this.#http, this.#config);
    return this.#login;
  }

  #ask({ token, endpoints }: Login, service: ServiceType, request: ServiceRequest): Promise<HttpResponse> {
    const { method, path, version, body } = request;
    const major = service === "compute" ? 2 : 1;
    // Nova's old catalogs have the project's id in the endpoint; its version document is one level up.
    const base = path === "/" ? endpoints[service].replace(/(\/v2(?:\.1)?)\/.*$/, "$1") : endpoints[service];
    return reachable(
      this.#http.request({
        method,
        url: base + path,
        headers: {
          "x-auth-token": token,
          accept: "application/json",
          "user-agent": "compute-cluster audit",
          ...(version === undefined ? {} : { "openstack-api-version": `${service} ${major}.${version}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      `the ${service} service of cloud ${this.#config.name}; check the catalog's URL, or choose another --os-interface`,
    );
  }
}
