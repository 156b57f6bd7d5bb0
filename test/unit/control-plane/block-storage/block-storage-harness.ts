import type { BlockStorageOptions } from "../../../../src/control-plane/block-storage/block-storage-options.js";
import { createBlockStorageService } from "../../../../src/control-plane/block-storage/block-storage-service.js";
import type { BlockStorageWork } from "../../../../src/control-plane/block-storage/engine/block-storage-context.js";
import { BLOCK_STORAGE_FAULTS } from "../../../../src/control-plane/block-storage/work/run-work.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import { FaultSet } from "../../../../src/faults/fault-set.js";
import { parseFaultRule } from "../../../../src/faults/faults.js";
import { VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { type CinderCaller, projectOf, validateCinderCaller } from "../../../fixtures/cinder/cinder-callers.js";
import { FakeImages } from "../../../fixtures/cinder/fake-images.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { Reply } from "../../../fixtures/reply.js";

export type Body = Readonly<Record<string, unknown>>;

interface SendOptions {
  readonly caller?: string;
  /** `3.70` or another microversion; null for none. */
  readonly version?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The Block Storage service alone. Its work runs after each request, unless it is paused. */
export class BlockStorageHarness {
  readonly store: Store;
  readonly images = new FakeImages();
  readonly faults: FaultSet;
  /** Ids of the attachments by which servers use volumes, as Compute knows them. */
  readonly attachedServers = new Map<string, string>();
  /** Events that servers were notified of. */
  readonly events: string[] = [];
  /** Whether work waits until `runWork`. */
  isPaused = false;
  readonly #world = new VirtualWorld();
  readonly #service: ReturnType<typeof createBlockStorageService>;
  #work: BlockStorageWork[] = [];
  readonly #done: BlockStorageWork[] = [];

  constructor(options: Partial<BlockStorageOptions> = {}) {
    const runtime = this.#world.spawn();
    this.store = emptyStore({ runtime });
    this.faults = new FaultSet(runtime);
    this.#service = createBlockStorageService({
      ...runtime,
      sql: this.store.database,
      validate: validateCinderCaller,
      images: this.images,
      servers: {
        attachmentOf: (serverId) => this.attachedServers.get(serverId),
        notify: (serverId, event, volumeId) => this.events.push(`${event} ${volumeId} ${serverId}`),
      },
      faults: this.faults,
      enqueue: (work) => this.#work.push(work),
      options,
    });
  }

  /** Sets a fault: `volume.create=fail:once`. */
  fault(rule: string): void {
    this.faults.set(parseFaultRule(rule, BLOCK_STORAGE_FAULTS));
  }

  /** Sends a request. @param path below the caller's project, or below the mount point if it begins with `//` */
  async send(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Reply> {
    const { caller = "member", version = "3.70", headers = {} } = options;
    const full = path.startsWith("//") ? path.slice(1) : `/v3/${projectOf(caller as CinderCaller)}${path}`;
    const [pathname = "", query = ""] = full.split("?");
    const response = this.#service.handle({
      method,
      path: pathname,
      query,
      headers: {
        ...(caller !== "" && { "x-auth-token": caller }),
        "content-type": "application/json",
        ...(version !== null && { "openstack-api-version": `volume ${version}` }),
        ...headers,
      },
      body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
      baseUrl: "http://127.0.0.1:8774/volume",
    });
    const reply = new Reply(await this.#world.runUntil(Promise.resolve(response)));
    // Records of one moment have no order.
    await this.#world.advance(1);
    if (!this.isPaused) {
      await this.runWork();
    }
    return reply;
  }

  /** Runs the stored work, as the task runner does. */
  async runWork(): Promise<void> {
    const { worker } = this.#service;
    for (let work = this.#work.shift(); work !== undefined; work = this.#work.shift()) {
      const current = work;
      this.#done.push(current);
      const done = worker.run(current, () => {}).catch(() => this.store.transaction(() => worker.fail(current)));
      await this.#world.runUntil(done);
    }
  }

  /** Runs all work again that has run, as after a kill before its end was stored. */
  async repeatWork(): Promise<void> {
    this.#work = this.#done.splice(0);
    await this.runWork();
  }

  /** Returns the record of the response. @throws an error unless the request succeeds */
  async get(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<Body> {
    const reply = await this.send(method, path, body, options);
    if (reply.status >= 300) {
      throw new Error(`${method} ${path}: ${reply.status} ${reply.body}`);
    }
    return reply.body === "" ? {} : (Object.values(reply.json() as Record<string, Body>)[0] ?? {});
  }

  /** Creates a volume of 1 GiB and returns its id. */
  async volume(attributes: Body = {}, options: SendOptions = {}): Promise<string> {
    return String((await this.get("POST", "/volumes", { volume: { size: 1, ...attributes } }, options)).id);
  }

  async statusOf(path: string): Promise<unknown> {
    return (await this.get("GET", path)).status;
  }

  /** Returns status and message of the error response. */
  async rejection(method: string, path: string, body?: unknown, options: SendOptions = {}): Promise<string> {
    const reply = await this.send(method, path, body, options);
    return `${reply.status} ${reply.message}`;
  }
}
