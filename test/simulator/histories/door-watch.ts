import type { Store } from "../../../src/cluster/store/store.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import type { ServiceHandler, ServiceRequest } from "../../../src/runtime/service.js";
import type { Violation } from "../../chaos/violation.js";

/** What a service's handler is put into. */
type Wrapping = (handler: ServiceHandler) => ServiceHandler;

/**
 * Stands before the control plane's Compute API and Placement, and compares the records before a request with those after it.
 * Both carry out a request before they give the control back, so that what differs is its doing.
 */
export class DoorWatch {
  readonly violations: Violation[] = [];
  readonly #store: () => Store | null;

  /** @param store null while a control plane starts: what it is asked then is not watched */
  constructor(store: () => Store | null) {
    this.#store = store;
  }

  /** The runtime for a control plane that is to be watched. */
  runtime(runtime: Runtime): Runtime {
    const wrap: Readonly<Record<string, Wrapping>> = { "/compute": this.#compute, "/placement": this.#placement };
    return {
      ...runtime,
      servers: {
        afterArrivals: (action) => runtime.servers.afterArrivals(action),
        listen: (options) => {
          const services = Object.entries(options.services).map(([mount, handler]) => [
            mount,
            wrap[mount]?.(handler) ?? handler,
          ]);
          return runtime.servers.listen({ ...options, services: Object.fromEntries(services) });
        },
      },
    };
  }

  /** What the Compute API refuses changes nothing of its server. */
  readonly #compute: Wrapping = (handler) => async (request) => {
    const [, server] = /\/servers\/([0-9a-f-]{36})\b/.exec(request.path) ?? [];
    const store = this.#store();
    if (request.method === "GET" || server === undefined || store === null) {
      return handler(request);
    }
    const before = recordsOf(store, server);
    const answering = handler(request);
    const after = recordsOf(store, server);
    const answer = await answering;
    if (answer.status >= 400 && before !== after) {
      const what = `${request.method} ${request.path} ${request.body} was answered ${answer.status}, and changed ${before} to ${after}`;
      this.violations.push({ subject: server, what });
    }
    return answer;
  };

  /** A write of Placement finds the generation that it names, and uses it up. */
  readonly #placement: Wrapping = (handler) => (request) => {
    const store = this.#store();
    const named = store === null ? [] : generationsIn(request);
    const look = () => named.map((one) => (store === null ? null : generationOf(store, one)));
    const before = look();
    const answering = handler(request);
    const after = look();
    return Promise.resolve(answering).then((answer) => {
      for (const [index, { table, uuid, generation }] of named.entries()) {
        const [found, left] = [before[index], after[index]];
        // What a provider has already is not written again.
        const kept = left === found && found !== null && table === "placement_consumers";
        if (answer.status < 300 && (found !== generation || kept)) {
          const what = `${request.method} ${request.path} with generation ${generation} was answered ${answer.status}; it found ${found}, and left ${left}`;
          this.violations.push({ subject: uuid, what });
        }
      }
      return answer;
    });
  };
}

function recordsOf({ database }: Store, server: string): string {
  return JSON.stringify([
    database.all("SELECT * FROM instances WHERE uuid = ?", server),
    database.all("SELECT * FROM migrations WHERE instance_uuid = ?", server),
    database.all("SELECT * FROM instance_actions WHERE instance_uuid = ?", server),
    database.all("SELECT * FROM build_requests WHERE instance_uuid = ?", server),
    database.all("SELECT * FROM tasks WHERE json_extract(task, '$.instanceUuid') = ?", server),
    database.all("SELECT * FROM messages WHERE json_extract(params, '$.instanceUuid') = ?", server),
  ]);
}

/** Null: there is no such record. */
function generationOf({ database }: Store, { table, uuid }: Named): number | null {
  const row = database.get(`SELECT generation FROM ${table} WHERE uuid = ?`, uuid);
  return row === undefined ? null : Number(row[0]);
}

/** A generation that a request says it has read. */
interface Named {
  readonly table: "placement_consumers" | "placement_resource_providers";
  readonly uuid: string;
  /** Null: there is no such consumer. */
  readonly generation: number | null;
}

function generationsIn({ method, path, body }: ServiceRequest): readonly Named[] {
  if ((method !== "PUT" && method !== "POST") || body === "") {
    return [];
  }
  const content = new Map(Object.entries(Object(JSON.parse(body))));
  const [, provider, consumer] = /^\/(?:resource_providers\/([^/]+)\/.+|allocations\/([^/]+))$/.exec(path) ?? [];
  if (provider !== undefined) {
    return named("placement_resource_providers", provider, content.get("resource_provider_generation"));
  }
  if (consumer !== undefined) {
    return named("placement_consumers", consumer, content.get("consumer_generation"));
  }
  return path === "/allocations"
    ? [...content].flatMap(([uuid, one]) => named("placement_consumers", uuid, Object(one).consumer_generation))
    : [];
}

function named(table: Named["table"], uuid: string, generation: unknown): readonly Named[] {
  return typeof generation === "number" || generation === null ? [{ table, uuid, generation }] : [];
}
