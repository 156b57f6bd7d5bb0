import type { ValidateToken } from "../../../../src/control-plane/credentials.js";
import type {
  NetworkContext,
  RegisteredResource,
} from "../../../../src/control-plane/network/engine/network-context.js";
import type { NetworkOptions } from "../../../../src/control-plane/network/network-options.js";
import { createNetworkService } from "../../../../src/control-plane/network/network-service.js";
import { createNetworkTables } from "../../../../src/control-plane/network/network-tables.js";
import type { ServerEvent } from "../../../../src/control-plane/network/server-events.js";
import { createResourceTables } from "../../../../src/control-plane/resources/resource-table.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { ServiceHandler } from "../../../../src/runtime/http-server.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { type Caller, validateCaller } from "../../../fixtures/callers.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { Reply } from "../../../fixtures/reply.js";

export type Body = Readonly<Record<string, unknown>>;

/** The Network service alone, without networks. */
export class NetworkHarness {
  readonly store: Store;
  /** The service without policies. */
  readonly context: NetworkContext;
  /** Events for Compute, in the order in which they were sent. */
  readonly events: ServerEvent[] = [];
  readonly #world = new VirtualWorld();
  readonly #handle: ServiceHandler;

  /**
   * @param validate returns the credentials of a token. Default: those of the callers by name
   * @param moreResources resources beside Neutron's
   */
  constructor(
    options: Partial<NetworkOptions> = {},
    validate: ValidateToken = validateCaller,
    moreResources: readonly RegisteredResource[] = [],
  ) {
    const runtime = this.#world.spawn();
    this.store = emptyStore({ runtime });
    createNetworkTables(this.store.database);
    const descriptions = moreResources.map(({ resource }) => resource);
    createResourceTables(this.store.database, "more", descriptions);
    const service = createNetworkService({
      ...runtime,
      validate,
      sql: this.store.database,
      events: { send: (event) => this.events.push(event) },
      options,
      moreResources,
    });
    this.#handle = service.handle;
    this.context = service.context;
  }

  /** Sends a request. @param url below `/v2.0`, or below the mount point if it begins with `//` */
  async send(
    method: string,
    url: string,
    body?: unknown,
    caller: string = "demo",
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Reply> {
    const [path = "", query = ""] = (url.startsWith("//") ? url.slice(1) : `/v2.0${url}`).split("?");
    const response = await this.#world.runUntil(
      Promise.resolve(
        this.#handle({
          method,
          path,
          query,
          headers: { "x-auth-token": caller, "content-type": "application/json", ...headers },
          body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
          baseUrl: "http://127.0.0.1:8774/network",
        }),
      ),
    );
    return new Reply(response);
  }

  /** Returns the created or found resource. @throws an error unless the request succeeds */
  async get(method: string, url: string, body?: unknown, caller: Caller = "demo"): Promise<Body> {
    const reply = await this.send(method, url, body, caller);
    if (reply.status >= 300) {
      throw new Error(`${method} ${url}: ${reply.status} ${reply.body}`);
    }
    return reply.body === "" ? {} : (Object.values(reply.json() as Record<string, Body>)[0] ?? {});
  }

  async list(url: string, caller: Caller = "demo"): Promise<readonly Body[]> {
    return (await this.get("GET", url, undefined, caller)) as unknown as readonly Body[];
  }

  /** Returns status, type and message of the error response: `404 NetworkNotFound: Network x could not be found.` */
  async rejection(method: string, url: string, body?: unknown, caller: Caller = "demo"): Promise<string> {
    const reply = await this.send(method, url, body, caller);
    return `${reply.status} ${reply.json("NeutronError", "type")}: ${reply.json("NeutronError", "message")}`;
  }

  /** Advances the clock. */
  advance(milliseconds: number): Promise<void> {
    return this.#world.advance(milliseconds);
  }
}
