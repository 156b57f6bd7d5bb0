import type { Store } from "../../../src/control-plane/store/store.js";
import type { ServiceHandler, ServiceRequest } from "../../../src/runtime/http-server.js";
import type { Runtime } from "../../../src/runtime/runtime.js";
import type { Violation } from "../../chaos/violation.js";

/** Wraps a service's handler. */
type Wrapping = (handler: ServiceHandler) => ServiceHandler;

/**
 * Wraps the Compute API and Placement, and compares the records before and after each request.
 * Both change records synchronously, so all differences are caused by the request.
 */
export class ApiWatch {
  readonly violations: Violation[] = [];
  readonly #store: () => Store | null;

  /** @param store returns null while a control plane starts; its requests are then not watched */
  constructor(store: () => Store | null) {
    this.#store = store;
  }

  /** Returns the runtime for a watched control plane. */
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

  /** Checks that a rejected request to the Compute API does not change records of its server. */
  readonly #compute: Wrapping = (handler) => async (request) => {
    const [, server] = /\/servers\/([0-9a-f-]{36})\b/.exec(request.path) ?? [];
    const store = this.#store();
    if (request.method === "GET" || server === undefined || store === null) {
      return handler(request);
    }
    const before = recordsOf(store, server);
    const pending = handler(request);
    const after = recordsOf(store, server);
    const response = await pending;
    if (response.status >= 400 && before !== after) {
      const what = `${request.method} ${request.path} ${request.body} was answered ${response.status}, and changed ${before} to ${after}`;
      this.violations.push({ subject: server, what });
    }
    return response;
  };

  /** Checks that a write to Placement succeeds only if its generation is current, and then changes the generation. */
  readonly #placement: Wrapping = (handler) => (request) => {
    const store = this.#store();
    const named = store === null ? [] : generationsIn(request);
    const look = () => named.map((one) => (store === null ? null : generationOf(store, one)));
    const before = look();
    const pending = handler(request);
    const after = look();
    return Promise.resolve(pending).then((response) => {
      for (const [index, { table, uuid, generation }] of named.entries()) {
        const [found, left] = [before[index], after[index]];
        // A provider's generation does not change if the request changes nothing.
        const isUnchanged = left === found && found !== null && table === "placement_consumers";
        if (response.status < 300 && (found !== generation || isUnchanged)) {
          const what = `${request.method} ${request.path} with generation ${generation} was answered ${response.status}; it found ${found}, and left ${left}`;
          this.violations.push({ subject: uuid, what });
        }
      }
      return response;
    });
  };
}

/** The records of a server: tables, and the expression of a row's server uuid. */
const RECORDS = [
  ["instances", "uuid"],
  ["migrations", "instance_uuid"],
  ["instance_actions", "instance_uuid"],
  ["build_requests", "instance_uuid"],
  ["tasks", "json_extract(task, '$.instanceUuid')"],
  ["messages", "json_extract(params, '$.instanceUuid')"],
] as const;

/** The queries for all records by store; a single query, because it runs twice for each request. */
const QUERIES = new WeakMap<Store, string>();

function recordsOf(store: Store, server: string): string {
  const query = QUERIES.get(store) ?? queryOf(store);
  QUERIES.set(store, query);
  return String(store.database.get(query, server)?.[0]);
}

function queryOf({ database }: Store): string {
  const rows = RECORDS.map(([table, subject]) => {
    const columns = database.all("SELECT name FROM pragma_table_info(?)", table).map(([name]) => String(name));
    return `(SELECT json_group_array(json_array(${columns.join(", ")})) FROM ${table} WHERE ${subject} = ?1)`;
  });
  return `SELECT json_array(${rows.join(", ")})`;
}

/** Returns null if the record does not exist. */
function generationOf({ database }: Store, { table, uuid }: Named): number | null {
  const row = database.get(`SELECT generation FROM ${table} WHERE uuid = ?`, uuid);
  return row === undefined ? null : Number(row[0]);
}

/** A record whose generation a request contains. */
interface Named {
  readonly table: "placement_consumers" | "placement_resource_providers";
  readonly uuid: string;
  /** The required generation; null requires that the consumer does not exist. */
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
