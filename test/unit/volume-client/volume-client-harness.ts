import type { HttpClient, HttpRequest } from "../../../src/runtime/http.js";
import { VolumeClient } from "../../../src/volume-client/volume-client.js";
import { BlockStorageHarness } from "../control-plane/block-storage/block-storage-harness.js";

/** An agent's client, and the embedded Block Storage in the same process. */
export class VolumeClientHarness {
  readonly storage = new BlockStorageHarness();
  readonly requests: HttpRequest[] = [];
  /** Milliseconds of all waits. */
  readonly waited: number[] = [];
  readonly client: VolumeClient;
  /** Replaces the response to a request. */
  intercept: (request: HttpRequest) => { readonly status: number; readonly body: string } | undefined = () => undefined;

  constructor() {
    this.client = new VolumeClient({
      http: { request: (request) => this.#send(request), close: async () => {} } satisfies HttpClient,
      clock: { now: () => 0, monotonic: () => this.waited.reduce((sum, milliseconds) => sum + milliseconds, 0) },
      timers: { sleep: async (milliseconds) => void this.waited.push(milliseconds), after: () => () => {} },
      access: accessOf("nova"),
      accessOf: () => accessOf("member"),
      allocateRetries: 2,
      allocateInterval: 3,
    });
  }

  /** The requests that changed something: `POST /attachments`. Ids are left out. */
  get changes(): readonly string[] {
    return this.requests
      .filter(({ method }) => method !== "GET")
      .map(({ method, url, body }) => {
        const path = url.replace("http://cinder/v3", "").replace(/\/[0-9a-f-]{36}/, "/*");
        return `${method} ${path}${path.endsWith("/action") ? ` ${Object.keys(JSON.parse(body ?? "{}"))[0]}` : ""}`;
      });
  }

  async #send(request: HttpRequest) {
    this.requests.push(request);
    const replaced = this.intercept(request);
    if (replaced) {
      return { headers: {}, ...replaced };
    }
    const { "x-auth-token": caller = "", "openstack-api-version": version, ...headers } = request.headers ?? {};
    const path = request.url.replace("http://cinder", "/");
    const response = await this.storage.send(request.method, path, request.body, {
      caller,
      version: version?.replace("volume ", "") ?? null,
      headers,
    });
    return { status: response.status, headers: {}, body: response.body };
  }
}

function accessOf(token: string) {
  const credentials = { endpoint: "http://cinder/v3", headers: { "x-auth-token": token } };
  return { credentials: async () => credentials, expire: () => {} };
}
