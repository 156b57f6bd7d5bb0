import { cloudVariables } from "../control-plane/identity/openrc.js";
import { isObject } from "../runtime/collections.js";
import type { Fetch } from "../runtime/node/node-fetch.js";
import type { CloudCredentials } from "./cluster.js";

/** The administrator's cloud in clouds.yaml. */
const CLOUD = "devstack";

/** Max milliseconds before its expiry at which a token is renewed. */
const MAX_MARGIN_MS = 60_000;

/** Part of a token's lifetime before its expiry at which it is renewed. */
const MARGIN_SHARE = 0.25;

/** Types of services by other names that their clients accept. */
const SERVICE_ALIASES: ReadonlyMap<string, string> = new Map([
  ["nova", "compute"],
  ["keystone", "identity"],
  ["glance", "image"],
  ["neutron", "network"],
  ["cinder", "block-storage"],
  ["volume", "block-storage"],
  ["ironic", "baremetal"],
  ["bare-metal", "baremetal"],
]);

/** A token with the catalog that it was issued with. */
interface Login {
  readonly token: string;
  /** Milliseconds since the epoch, in the cluster's time. */
  readonly renewAt: number;
  readonly services: readonly CatalogService[];
}

interface CatalogService {
  readonly type: string;
  readonly name: string;
  /** The public endpoint, without a trailing slash. */
  readonly endpoint: string;
}

/** Returns the administrator's credentials. @throws {Error} when the text has none */
export function credentialsIn(cloudsYaml: string): CloudCredentials {
  const env = cloudVariables(cloudsYaml, CLOUD);
  if (env === undefined) {
    throw new Error(`clouds.yaml has no cloud ${CLOUD}; the next start of the cluster writes it`);
  }
  return {
    authUrl: env.OS_AUTH_URL ?? "",
    username: env.OS_USERNAME ?? "",
    password: env.OS_PASSWORD ?? "",
    userDomainId: env.OS_USER_DOMAIN_ID ?? "",
    projectName: env.OS_PROJECT_NAME ?? "",
    projectDomainId: env.OS_PROJECT_DOMAIN_ID ?? "",
    region: env.OS_REGION_NAME ?? "",
    env,
  };
}

/** Sends requests of the administrator, and shares one token between them. */
export class CloudAccess {
  readonly #cluster: { readonly url: string; readonly credentials: CloudCredentials; readonly now: number };
  readonly #fetch: Fetch;
  #login: Promise<Login> | undefined;

  constructor(
    cluster: { readonly url: string; readonly credentials: CloudCredentials; readonly now: number },
    fetch: Fetch,
  ) {
    this.#cluster = cluster;
    this.#fetch = fetch;
  }

  async token(): Promise<string> {
    return (await this.#current()).token;
  }

  async fetch(service: string, path: string, init: RequestInit = {}): Promise<Response> {
    const { signal } = init;
    const login = await untilAborted(this.#current(), signal);
    // A catalog that was read earlier may lack a service that was registered since.
    const used = findService(login, service) === undefined ? await untilAborted(this.#renew(login), signal) : login;
    const response = await this.#send(used, service, path, init);
    const headers = new Headers(init.headers);
    if (response.status !== 401 || headers.has("x-auth-token") || !isRepeatable(init.body)) {
      return response;
    }
    await response.body?.cancel();
    return this.#send(await untilAborted(this.#renew(used), signal), service, path, init);
  }

  #send({ token, services }: Login, service: string, path: string, init: RequestInit): Promise<Response> {
    const found = findService({ services }, service);
    if (found === undefined) {
      const known = services.map(({ type, name }) => (name === "" ? type : `${type} (${name})`)).join(", ");
      throw new Error(`found no service ${service} in the catalog, expected one of ${known || "none"}`);
    }
    const headers = new Headers(init.headers);
    if (!headers.has("x-auth-token")) {
      headers.set("x-auth-token", token);
    }
    if (typeof init.body === "string" && !headers.has("content-type")) {
      headers.set("content-type", "application/json");
    }
    return this.#respond(urlOf(found, path), { ...init, headers }, found.type);
  }

  /** @throws {Error} when there is no response */
  async #respond(url: string, init: RequestInit, service: string): Promise<Response> {
    try {
      return await this.#fetch(url, init);
    } catch (error) {
      // Anything but a failed connection is the caller's: an aborted signal, an invalid header.
      if (init.signal?.aborted === true || !(error instanceof TypeError) || error.cause === undefined) {
        throw error;
      }
      const { cause } = error;
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new Error(
        `the ${service} service did not respond to ${init.method ?? "GET"} ${url}: ${reason}; the cluster may have been stopped`,
        { cause: error },
      );
    }
  }

  /** Returns the cached token, or a new one if it expires soon. */
  async #current(): Promise<Login> {
    const current = this.#login;
    const login = await (current ?? this.#start());
    return this.#cluster.now < login.renewAt ? login : this.#renew(login);
  }

  /** Returns a token issued after this one. Concurrent callers get the same. */
  async #renew(old: Login): Promise<Login> {
    const current = this.#login;
    const login = current === undefined ? undefined : await current;
    return login === undefined || login === old ? this.#start(current) : login;
  }

  /** @param replaced the login that is no longer valid */
  #start(replaced?: Promise<Login>): Promise<Login> {
    if (this.#login !== undefined && this.#login !== replaced) {
      return this.#login;
    }
    const started = this.#logIn();
    this.#login = started;
    // A failed login is not cached.
    started.catch(() => {
      if (this.#login === started) {
        this.#login = undefined;
      }
    });
    return started;
  }

  /** @throws {Error} when Identity issues no token */
  async #logIn(): Promise<Login> {
    const { url: clusterUrl, credentials, now } = this.#cluster;
    const { username, password, userDomainId, projectName, projectDomainId } = credentials;
    // The local listener, whose certificate needs no trust: the address in clouds.yaml may be another machine's.
    const url = `${clusterUrl}/identity/v3/auth/tokens`;
    const user = { name: username, password, domain: { id: userDomainId } };
    const scope = { project: { name: projectName, domain: { id: projectDomainId } } };
    const body = JSON.stringify({ auth: { identity: { methods: ["password"], password: { user } }, scope } });
    const headers = { accept: "application/json", "content-type": "application/json" };
    const response = await this.#respond(url, { method: "POST", headers, body }, "identity");
    const text = await response.text();
    const token = response.headers.get("x-subject-token");
    if (response.status !== 201 || token === null) {
      throw new Error(
        `Identity at ${url} responded with ${response.status}, expected 201 and a token for user ${username} in project ` +
          `${projectName}: ${text.slice(0, 200)}`,
      );
    }
    return { token, ...readToken(text, now) };
  }
}

/** Settles as the promise does, or rejects as `fetch` does when the signal aborts first. */
async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  signal?.throwIfAborted();
  if (!signal) {
    return promise;
  }
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Returns whether a body can be sent again: a stream is consumed by the first request. */
function isRepeatable(body: RequestInit["body"]): boolean {
  return !(
    typeof body === "object" &&
    body !== null &&
    (body instanceof ReadableStream || Symbol.asyncIterator in body)
  );
}

function findService({ services }: Pick<Login, "services">, service: string): CatalogService | undefined {
  const type = SERVICE_ALIASES.get(service) ?? service;
  return services.find((each) => each.type === type) ?? services.find(({ name }) => name === service);
}

/** @throws {Error} when an absolute URL belongs to another server, which must not get the token */
function urlOf({ type, endpoint }: CatalogService, path: string): string {
  const { origin, pathname } = new URL(endpoint);
  if (/^[a-z][a-z0-9+.-]*:/i.test(path)) {
    if (!URL.canParse(path) || new URL(path).origin !== origin) {
      throw new Error(`found ${path}, expected a path or a URL of the ${type} service at ${endpoint}`);
    }
    return path;
  }
  const below = path === "" || path.startsWith("/") || path.startsWith("?") ? path : `/${path}`;
  const base = pathname.replace(/\/$/, "");
  const version = /\/v\d[\d.]*$/.exec(base)?.[0] ?? "";
  if (base !== "" && isBelow(below, base)) {
    return origin + below;
  }
  return origin + (version !== "" && isBelow(below, version) ? base.slice(0, -version.length) : base) + below;
}

function isBelow(path: string, parent: string): boolean {
  return path.startsWith(parent) && ["", "/", "?"].includes(path.charAt(parent.length));
}

/** Reads the body of a token response. @param now the cluster's time at the request */
function readToken(body: string, now: number): Pick<Login, "renewAt" | "services"> {
  const { token } = JSON.parse(body) as {
    readonly token: { readonly expires_at: string; readonly catalog?: readonly unknown[] };
  };
  const expiresAt = Date.parse(token.expires_at);
  return {
    renewAt: expiresAt - Math.min(MAX_MARGIN_MS, (expiresAt - now) * MARGIN_SHARE),
    services: (token.catalog ?? []).flatMap(readService),
  };
}

/** Returns the service with its public endpoint; nothing if it has none. */
function readService(entry: unknown): readonly CatalogService[] {
  if (!isObject(entry)) {
    return [];
  }
  const { type, name, endpoints } = entry;
  const [endpoint] = (Array.isArray(endpoints) ? endpoints : [])
    .filter(isObject)
    .flatMap(({ interface: side, url }) => {
      return side === "public" && typeof url === "string" && URL.canParse(url) ? [url.replace(/\/+$/, "")] : [];
    });
  return endpoint === undefined ? [] : [{ type: String(type), name: String(name ?? ""), endpoint }];
}
