import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { Journal, Outcome } from "./journal.js";
import { type ServerRequest, toServerRequest } from "./oracle/requests.js";

/** A parsed body with nested access. */
export interface Json {
  readonly [key: string]: Json;
}

export interface ApiResponse {
  readonly status: number;
  readonly body: Json;
  readonly requestId: string | null;
}

/** A user's entry in `clouds.yaml`. */
export type CloudName = "devstack" | "devstack-demo";

export interface ClientDeps {
  readonly stateDir: string;
  readonly journal: Journal;
  /** Operations that are not used. */
  readonly without: readonly string[];
  /** Called for each response with status 500 or above. */
  readonly onFailure: (text: string) => void;
  /** Called for each request about a server after its response or failure. */
  readonly onRequest: (request: ServerRequest) => void;
}

/** Milliseconds; longer than any request that still gets a response. */
const REQUEST_TIMEOUT_MS = 20_000;

/** A user's HTTP client. If the control plane is killed, requests get no response. */
export class Client {
  readonly who: string;
  readonly #cloud: CloudName;
  readonly #deps: ClientDeps;
  #url = "";
  #token = "";

  constructor(who: string, cloud: CloudName, deps: ClientDeps) {
    this.who = who;
    this.#cloud = cloud;
    this.#deps = deps;
  }

  /** Sends a request to the Compute API; null if there was no response. */
  async ask(method: string, path: string, body?: unknown, version = "2.94"): Promise<ApiResponse | null> {
    const response = await this.#ask(method, `/compute/v2.1${path}`, body, {
      "openstack-api-version": `compute ${version}`,
    });
    const serverRequest = method === "GET" ? null : toServerRequest({ method, path, body }, response);
    if (serverRequest !== null) {
      this.#deps.onRequest(serverRequest);
    }
    return response;
  }

  /** Sends a request to the Network API; null if there was no response. */
  askNetwork(method: string, path: string, body?: unknown): Promise<ApiResponse | null> {
    return this.#ask(method, `/network/v2.0${path}`, body, {});
  }

  async #ask(
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<ApiResponse | null> {
    try {
      if (this.#token === "") {
        await this.#authenticate();
      }
      const response = await this.#send(method, `${this.#url}${path}`, body, {
        "x-auth-token": this.#token,
        ...headers,
      });
      if (response.status >= 500) {
        this.#deps.onFailure(
          `${this.who}: ${method} ${path} answered ${response.status} ${JSON.stringify(response.body)}`,
        );
      }
      return response;
    } catch {
      return null;
    }
  }

  /** Like {@link ask}, but counts and records the request as an operation. */
  async act(
    operation: string,
    request: {
      readonly method: string;
      readonly path: string;
      readonly body?: unknown;
      readonly version?: string;
      /** Default: Compute. */
      readonly service?: "compute" | "network";
    },
    server?: string,
  ): Promise<ApiResponse | null> {
    const { journal, without } = this.#deps;
    if (without.includes(operation)) {
      return null;
    }
    const { method, path, body, version, service = "compute" } = request;
    const response =
      service === "network" ? await this.askNetwork(method, path, body) : await this.ask(method, path, body, version);
    const outcome = outcomeOf(response);
    const detail = body === undefined ? "" : ` ${JSON.stringify(body)}`;
    const reason = response !== null && response.status >= 400 ? `: ${reasonIn(response)}` : "";
    journal.count(operation, outcome);
    journal.note(this.who, `${operation}${detail} -> ${response?.status ?? "no answer"}${reason}`, server);
    return response;
  }

  async #authenticate(): Promise<void> {
    const clouds = parse(await readFile(join(this.#deps.stateDir, "clouds.yaml"), "utf8")) as Json;
    const auth = clouds.clouds?.[this.#cloud]?.auth;
    if (auth === undefined) {
      throw new Error(`clouds.yaml has no cloud ${this.#cloud}`);
    }
    const domain = { id: "default" };
    const user = { name: auth.username, domain, password: auth.password };
    const identity = String(auth.auth_url);
    const response = await fetch(`${identity}/auth/tokens`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        auth: {
          identity: { methods: ["password"], password: { user } },
          scope: { project: { name: auth.project_name, domain } },
        },
      }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    if (response.status !== 201) {
      throw new Error(`no token: ${response.status}`);
    }
    this.#url = identity.replace(/\/identity\/v3$/, "");
    this.#token = response.headers.get("x-subject-token") ?? "";
  }

  async #send(method: string, url: string, body: unknown, headers: Record<string, string>): Promise<ApiResponse> {
    const response = await fetch(url, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    });
    const text = await response.text();
    const content = (text === "" ? {} : JSON.parse(text)) as Json;
    return { status: response.status, body: content, requestId: response.headers.get("x-openstack-request-id") };
  }
}

function outcomeOf(response: ApiResponse | null): Outcome {
  if (response === null) {
    return "unanswered";
  }
  if (response.status >= 500) {
    return "failed";
  }
  return response.status >= 400 ? "refused" : "done";
}

function reasonIn({ body }: ApiResponse): string {
  const [fault] = Object.values(body);
  return String(fault?.message ?? JSON.stringify(body)).slice(0, 160);
}
