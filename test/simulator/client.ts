import { parse } from "yaml";
import type { HttpMethod } from "../../src/runtime/http.js";
import type { VirtualRuntime } from "../../src/simulation/virtual-world.js";
import type { Witness } from "./histories/witness.js";

/** A parsed body that can be traversed. */
export interface Json {
  readonly [key: string]: Json;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: Json;
  readonly requestId: string | null;
}

/** Milliseconds; longer than any request that still gets a response. */
const REQUEST_TIMEOUT_MS = 60_000;

/** A user's HTTP client. There is no response if the control plane is dead. */
export class Client {
  readonly #runtime: VirtualRuntime;
  readonly #cloudsFile: string;
  readonly #witness: Witness;
  #url = "";
  #token = "";

  get process(): string {
    return this.#runtime.name;
  }

  constructor(runtime: VirtualRuntime, cloudsFile: string, witness: Witness) {
    this.#runtime = runtime;
    this.#cloudsFile = cloudsFile;
    this.#witness = witness;
  }

  /** Sends a request to the Compute API. Returns null if there was no response. */
  async compute(method: HttpMethod, path: string, body?: unknown, version = "2.94"): Promise<ApiResponse | null> {
    const onResponse = this.#witness.onRequest({ method, path, body });
    const headers = { "openstack-api-version": `compute ${version}` };
    const response = await this.#ask(method, `/compute/v2.1${path}`, body, headers);
    onResponse(response);
    return response;
  }

  /** Sends a request to Ironic. Returns null if there was no response. */
  baremetal(method: HttpMethod, path: string, body?: unknown): Promise<ApiResponse | null> {
    return this.#ask(method, `/baremetal/v1${path}`, body, { "x-openstack-ironic-api-version": "1.82" });
  }

  /** Sends a request to the Network API. Returns null if there was no response. */
  network(method: HttpMethod, path: string, body?: unknown): Promise<ApiResponse | null> {
    return this.#ask(method, `/network/v2.0${path}`, body, {});
  }

  async #ask(
    method: HttpMethod,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<ApiResponse | null> {
    try {
      if (this.#token === "") {
        await this.#authenticate();
      }
      const send = () => this.#send(method, `${this.#url}${path}`, body, { "x-auth-token": this.#token, ...headers });
      const response = await send();
      if (response.status !== 401) {
        return response;
      }
      // A token expires after an hour.
      await this.#authenticate();
      return await send();
    } catch {
      return null;
    }
  }

  async #authenticate(): Promise<void> {
    const { clouds } = parse(await this.#runtime.files.read(this.#cloudsFile)) as {
      readonly clouds: { readonly devstack: { readonly auth: Readonly<Record<string, string>> } };
    };
    const { auth_url = "", username, password, project_name } = clouds.devstack.auth;
    const domain = { id: "default" };
    const response = await this.#runtime.http.request({
      method: "POST",
      url: `${auth_url}/auth/tokens`,
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        auth: {
          identity: { methods: ["password"], password: { user: { name: username, domain, password } } },
          scope: { project: { name: project_name, domain } },
        },
      }),
      timeout: REQUEST_TIMEOUT_MS,
    });
    if (response.status !== 201) {
      throw new Error(`no token: ${response.status}`);
    }
    this.#url = auth_url.replace(/\/identity\/v3$/, "");
    this.#token = response.headers["x-subject-token"] ?? "";
  }

  async #send(
    method: HttpMethod,
    url: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<ApiResponse> {
    const response = await this.#runtime.http.request({
      method,
      url,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      timeout: REQUEST_TIMEOUT_MS,
    });
    const { status, headers: responseHeaders } = response;
    const content = (response.body === "" ? {} : JSON.parse(response.body)) as Json;
    return { status, body: content, requestId: responseHeaders["x-openstack-request-id"] ?? null };
  }
}
