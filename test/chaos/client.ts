import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import type { Journal, Outcome } from "./journal.js";
import { type Asked, askedOf } from "./oracle/requests.js";

/** A parsed body that may be walked into. */
export interface Json {
  readonly [key: string]: Json;
}

export interface Answer {
  readonly status: number;
  readonly body: Json;
  readonly requestId: string | null;
}

/** What a person is to the cloud: an entry of `clouds.yaml`. */
export type CloudName = "devstack" | "devstack-demo";

export interface ClientDoors {
  readonly stateDir: string;
  readonly journal: Journal;
  /** Operations that are never asked for. */
  readonly without: readonly string[];
  /** Called for each answer of 500 and more. */
  readonly onFailure: (text: string) => void;
  /** Called for each request about a server, when it is answered, or will not be. */
  readonly onAsked: (asked: Asked) => void;
}

/** Longer than any request takes that will still be answered, in milliseconds. */
const PATIENCE = 20_000;

/** One person's HTTP client. The control plane may be killed at any moment: then there is no answer. */
export class Client {
  readonly who: string;
  readonly #cloud: CloudName;
  readonly #doors: ClientDoors;
  #url = "";
  #token = "";

  constructor(who: string, cloud: CloudName, doors: ClientDoors) {
    this.who = who;
    this.#cloud = cloud;
    this.#doors = doors;
  }

  /** A request to the Compute API. Null: there was no answer. */
  async ask(method: string, path: string, body?: unknown, version = "2.94"): Promise<Answer | null> {
    const answer = await this.#ask(method, path, body, version);
    const asked = method === "GET" ? null : askedOf({ method, path, body }, answer);
    if (asked !== null) {
      this.#doors.onAsked(asked);
    }
    return answer;
  }

  async #ask(method: string, path: string, body: unknown, version: string): Promise<Answer | null> {
    try {
      if (this.#token === "") {
        await this.#authenticate();
      }
      const answer = await this.#send(method, `${this.#url}/compute/v2.1${path}`, body, {
        "x-auth-token": this.#token,
        "openstack-api-version": `compute ${version}`,
      });
      if (answer.status >= 500) {
        this.#doors.onFailure(
          `${this.who}: ${method} ${path} answered ${answer.status} ${JSON.stringify(answer.body)}`,
        );
      }
      return answer;
    } catch {
      return null;
    }
  }

  /** As {@link ask}, counted and noted as an operation. */
  async act(
    operation: string,
    request: { readonly method: string; readonly path: string; readonly body?: unknown; readonly version?: string },
    server?: string,
  ): Promise<Answer | null> {
    const { journal, without } = this.#doors;
    if (without.includes(operation)) {
      return null;
    }
    const { method, path, body, version } = request;
    const answer = await this.ask(method, path, body, version);
    const outcome = outcomeOf(answer);
    const detail = body === undefined ? "" : ` ${JSON.stringify(body)}`;
    const reason = answer !== null && answer.status >= 400 ? `: ${reasonIn(answer)}` : "";
    journal.count(operation, outcome);
    journal.note(this.who, `${operation}${detail} -> ${answer?.status ?? "no answer"}${reason}`, server);
    return answer;
  }

  async #authenticate(): Promise<void> {
    const clouds = parse(await readFile(join(this.#doors.stateDir, "clouds.yaml"), "utf8")) as Json;
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
      signal: AbortSignal.timeout(PATIENCE),
    });
    if (response.status !== 201) {
      throw new Error(`no token: ${response.status}`);
    }
    this.#url = identity.replace(/\/identity\/v3$/, "");
    this.#token = response.headers.get("x-subject-token") ?? "";
  }

  async #send(method: string, url: string, body: unknown, headers: Record<string, string>): Promise<Answer> {
    const response = await fetch(url, {
      method,
      headers: body === undefined ? headers : { ...headers, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(PATIENCE),
    });
    const text = await response.text();
    const content = (text === "" ? {} : JSON.parse(text)) as Json;
    return { status: response.status, body: content, requestId: response.headers.get("x-openstack-request-id") };
  }
}

function outcomeOf(answer: Answer | null): Outcome {
  if (answer === null) {
    return "unanswered";
  }
  if (answer.status >= 500) {
    return "failed";
  }
  return answer.status >= 400 ? "refused" : "done";
}

function reasonIn({ body }: Answer): string {
  const [fault] = Object.values(body);
  return String(fault?.message ?? JSON.stringify(body)).slice(0, 160);
}
