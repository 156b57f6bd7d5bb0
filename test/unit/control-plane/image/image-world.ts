import type { Sql } from "../../../../src/control-plane/database/sql.js";
import { createImageApi } from "../../../../src/control-plane/image/image-api.js";
import { ImageStore } from "../../../../src/control-plane/image/image-store.js";
import type { Bytes } from "../../../../src/runtime/http.js";
import type { ServiceHandler, ServiceResponse } from "../../../../src/runtime/http-server.js";
import { nodeDigests } from "../../../../src/runtime/node/node-cryptography.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { type Caller, validateCaller } from "../../../fixtures/callers.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { Reply } from "../compute/api-world.js";

export const CIRROS = "c0ffee00-0000-4000-8000-000000000001";

type Body = Readonly<Record<string, unknown>>;

export interface Ask {
  /** Default: demo. */
  readonly as?: Caller;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON value, or raw text. */
  readonly body?: unknown;
  /** Sent unchanged. */
  readonly bytes?: Bytes;
}

/** The Image API alone, with tables and files that survive a restart. */
export class ImageWorld {
  readonly #world = new VirtualWorld();
  readonly sql: Sql;
  readonly folder = "/state/glance";
  runtime: VirtualRuntime;
  store: ImageStore;
  #api: ServiceHandler;
  readonly #sizeCap: number | undefined;
  /** Limit of each resource. */
  readonly limits: Record<string, number> = {};

  constructor(options: { readonly sizeCap?: number } = {}) {
    this.sql = emptyStore({ runtime: this.#world.spawn() }).database;
    this.#sizeCap = options.sizeCap;
    ({ runtime: this.runtime, store: this.store, api: this.#api } = this.#openApi());
  }

  /** Restarts the process: the tables and files stay, the memory is lost. */
  restart(): void {
    this.runtime.kill();
    ({ runtime: this.runtime, store: this.store, api: this.#api } = this.#openApi());
  }

  #openApi(): { readonly runtime: VirtualRuntime; readonly store: ImageStore; readonly api: ServiceHandler } {
    const runtime = this.#world.spawn({ name: "control-plane" });
    const { clock, files, logger, random } = runtime;
    const cap = this.#sizeCap === undefined ? {} : { sizeCap: this.#sizeCap };
    const { sql, folder } = this;
    const store = new ImageStore({ sql, clock, files, logger, digests: nodeDigests, folder, ...cap });
    return {
      runtime,
      store,
      api: createImageApi({ validate: validateCaller, random, store, limits: (name) => this.limits[name] }),
    };
  }

  async ask(method: string, url: string, ask: Ask = {}): Promise<Reply> {
    const response = await this.#world.runUntil(this.#begun(method, url, ask));
    const text = response.bytes === undefined ? response.body : await this.#world.runUntil(textOf(response.bytes));
    return new Reply({ ...response, body: text });
  }

  /** Sends a request that may never get a response. Returns whether it did within a minute. */
  async respondsInTime(method: string, url: string, ask: Ask): Promise<boolean> {
    let responded = false;
    const note = () => {
      responded = true;
    };
    this.#begun(method, url, ask).then(note, () => {});
    await this.#world.advance(60_000);
    return responded;
  }

  async #begun(method: string, url: string, { as = "demo", headers = {}, body, bytes }: Ask): Promise<ServiceResponse> {
    const [path = "", query = ""] = url.split("?");
    return this.#api({
      method,
      path,
      query,
      headers: {
        "x-auth-token": as,
        accept: "application/json",
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(bytes === undefined ? {} : { "content-type": "application/octet-stream" }),
        ...headers,
      },
      body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
      ...(bytes === undefined ? {} : { bytes }),
      baseUrl: "http://127.0.0.1:8774/image",
    });
  }

  /** Creates an image and returns its id. */
  async image(body: Body = {}, as: Caller = "demo"): Promise<string> {
    const plain = { name: "mine", disk_format: "raw", container_format: "bare" };
    const reply = await this.ask("POST", "/v2/images", { as, body: { ...plain, ...body } });
    if (reply.status !== 201) {
      throw new Error(`no image: ${reply.body}`);
    }
    return String(reply.json("id"));
  }

  /** Creates an image with data and returns its id. */
  async uploadImage(body: Body = {}, as: Caller = "demo", content = "some bytes"): Promise<string> {
    const id = await this.image(body, as);
    await this.ask("PUT", `/v2/images/${id}/file`, { as, bytes: parts(content) });
    return id;
  }

  async show(id: string, as: Caller = "demo"): Promise<Body> {
    return (await this.ask("GET", `/v2/images/${id}`, { as })).json() as Body;
  }

  patch(id: string, changes: unknown, { as = "demo", draft = 1 }: { as?: Caller; draft?: 0 | 1 } = {}): Promise<Reply> {
    const headers = { "content-type": `application/openstack-images-v2.${draft}-json-patch` };
    return this.ask("PATCH", `/v2/images/${id}`, { as, headers, body: changes });
  }

  /** Returns the names in a list of images. */
  async names(query = "", as: Caller = "demo"): Promise<readonly unknown[]> {
    const reply = await this.ask("GET", `/v2/images${query}`, { as });
    return (reply.json("images") as readonly Body[]).map(({ name }) => name);
  }

  /** Returns the names of the files in the folder of the data. */
  async files(folder = this.folder): Promise<readonly string[]> {
    return this.#world.runUntil(this.runtime.files.list(folder));
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return this.#world.runUntil(work);
  }
}

export async function* parts(...chunks: readonly string[]): Bytes & AsyncGenerator<Uint8Array> {
  for (const text of chunks) {
    yield Buffer.from(text);
  }
}

async function textOf(bytes: Bytes): Promise<string> {
  const all: Uint8Array[] = [];
  for await (const part of bytes) {
    all.push(part);
  }
  return Buffer.concat(all).toString();
}
