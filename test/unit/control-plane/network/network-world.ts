import { createNetworkApi } from "../../../../src/control-plane/network/network-api.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { ServiceHandler } from "../../../../src/runtime/http-server.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { type Caller, validateCaller } from "../../../fixtures/callers.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { Reply } from "../compute/api-world.js";

export const NETWORK = "c0ffee00-0000-4000-8000-000000000010";
export const SUBNET = "c0ffee00-0000-4000-8000-000000000011";

export type Body = Readonly<Record<string, unknown>>;

/** The Network API alone. */
export class NetworkWorld {
  readonly store: Store;
  readonly #world = new VirtualWorld();
  readonly #api: ServiceHandler;

  constructor() {
    const runtime = this.#world.spawn();
    this.store = emptyStore({ runtime });
    this.#api = createNetworkApi({ ...runtime, validate: validateCaller, store: this.store });
  }

  /** Sends a request. @param url below `/v2.0`, or below the mount point if it begins with `//` */
  async ask(method: string, url: string, body?: unknown, as: Caller | "" = "demo"): Promise<Reply> {
    const [path = "", query = ""] = (url.startsWith("//") ? url.slice(1) : `/v2.0${url}`).split("?");
    const response = await this.#world.runUntil(
      Promise.resolve(
        this.#api({
          method,
          path,
          query,
          headers: { "x-auth-token": as, "content-type": "application/json" },
          body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
          baseUrl: "http://127.0.0.1:8774/network",
        }),
      ),
    );
    return new Reply(response);
  }

  /** Returns the created or found resource. @throws an error unless the request succeeds */
  async get(method: string, url: string, body?: unknown, as: Caller = "demo"): Promise<Body> {
    const reply = await this.ask(method, url, body, as);
    if (reply.status >= 300) {
      throw new Error(`${method} ${url}: ${reply.status} ${reply.body}`);
    }
    return Object.values(reply.json() as Record<string, Body>)[0] ?? {};
  }

  async list(url: string, as: Caller = "demo"): Promise<readonly Body[]> {
    return (await this.get("GET", url, undefined, as)) as unknown as readonly Body[];
  }

  /** Returns status and type of the error response. */
  async getRejection(method: string, url: string, body?: unknown, as: Caller = "demo"): Promise<string> {
    const reply = await this.ask(method, url, body, as);
    return `${reply.status} ${reply.json("NeutronError", "type")}`;
  }

  async group(body: Body = { name: "web" }, as: Caller = "demo"): Promise<string> {
    return String((await this.get("POST", "/security-groups", { security_group: body }, as)).id);
  }

  async port(body: Body = {}, as: Caller = "demo"): Promise<Body> {
    return this.get("POST", "/ports", { port: { network_id: NETWORK, ...body } }, as);
  }
}
