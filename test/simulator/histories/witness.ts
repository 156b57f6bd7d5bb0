import {
  type ObservedResponse,
  outcomeOf,
  type Sent,
  type ServerRequest,
  toServerRequest,
} from "../../chaos/oracle/requests.js";
import type { Violation } from "../../chaos/violation.js";
import { type Moments, Registers } from "./registers.js";
import type { Ticks } from "./ticks.js";

/** Observes all requests of users: which were acknowledged, and which values they wrote and read. */
export class Witness {
  readonly requests: ServerRequest[] = [];
  readonly #ticks: Ticks;
  readonly #registers = new Registers();

  constructor(ticks: Ticks) {
    this.#ticks = ticks;
  }

  /** @returns a function to call with the response */
  onRequest(sent: Sent): (response: ObservedResponse | null) => void {
    const invoked = this.#ticks.next();
    return (response) => {
      const moments = { invoked, completed: this.#ticks.next(), outcome: outcomeOf(sent, response) };
      const serverRequest = toServerRequest(sent, response);
      if (serverRequest !== null) {
        this.requests.push(serverRequest);
      }
      this.#wrote(sent, response, moments);
      this.#read(sent, response, moments);
    };
  }

  /** Reads the final values, when there are no more writes. */
  found(subject: string, values: Values): void {
    const invoked = this.#ticks.next();
    this.#reads(subject, values, { invoked, completed: this.#ticks.next() });
  }

  unexplained(): readonly Violation[] {
    return this.#registers.violations();
  }

  #wrote({ method, path, body }: Sent, response: ObservedResponse | null, moments: Moments): void {
    const [, subject = ""] = /^\/(?:servers|os-services)\/([0-9a-f-]{36})\b/.exec(path) ?? [];
    const values =
      method === "POST" && path === "/servers" ? createdWith(body) : method === "GET" ? {} : writtenBy(path, body);
    const created = (response?.body as { readonly server?: { readonly id?: string } } | null | undefined)?.server?.id;
    for (const [name, value] of Object.entries(values)) {
      this.#registers.wrote(subject === "" ? (created ?? "") : subject, name, value, moments);
    }
  }

  #read({ method, path }: Sent, response: ObservedResponse | null, moments: Moments): void {
    if (method !== "GET" || response?.status !== 200) {
      return;
    }
    const { servers = [], services = [] } = response.body as {
      servers?: readonly ResourceView[];
      services?: readonly ResourceView[];
    };
    for (const server of path.startsWith("/servers/detail") ? servers : []) {
      this.#reads(server.id, serverValues(server), moments);
    }
    for (const service of services) {
      this.#reads(service.id, { disabled: service.status === "disabled", forced_down: service.forced_down }, moments);
    }
  }

  #reads(subject: string, values: Values, moments: Omit<Moments, "outcome">): void {
    for (const [name, value] of Object.entries(values)) {
      this.#registers.read(subject, name, value, moments);
    }
  }
}

type Values = Readonly<Record<string, unknown>>;

/** A server or a service as returned by the API. */
interface ResourceView extends Values {
  readonly id: string;
}

/** The metadata keys that users write. */
export const METADATA_KEYS = ["owner", "purpose"] as const;

/** @internal for tests */
export function serverValues({ name, tags, locked, metadata }: Values): Values {
  const found = new Map(Object.entries(Object(metadata)));
  const items = METADATA_KEYS.map((key) => [`metadata ${key}`, found.get(key) ?? null]);
  return { name, tags, locked, ...Object.fromEntries(items) };
}

function createdWith(body: unknown): Values {
  const { server } = body as { readonly server: { readonly name: string } };
  return serverValues({ name: server.name, tags: [], locked: false, metadata: {} });
}

/** Returns the values that a request writes, by the name under which they are read. */
function writtenBy(path: string, body: unknown): Values {
  const { server, metadata, tags, status, forced_down } = Object(body);
  const [, key] = /\/metadata\/(.+)$/.exec(path) ?? [];
  return {
    ...(path.endsWith("/action") && "lock" in Object(body) ? { locked: true } : {}),
    ...(path.endsWith("/action") && "unlock" in Object(body) ? { locked: false } : {}),
    ...(typeof server?.name === "string" ? { name: server.name } : {}),
    ...(tags === undefined ? {} : { tags: [...tags].sort() }),
    ...(key === undefined ? {} : { [`metadata ${key}`]: null }),
    ...Object.fromEntries(Object.entries(Object(metadata)).map(([name, value]) => [`metadata ${name}`, value])),
    ...(status === undefined ? {} : { disabled: status === "disabled" }),
    ...(forced_down === undefined ? {} : { forced_down }),
  };
}
