import { ConductorError } from "../../../../src/conductor-client/errors.js";
import type { ComputeDeps } from "../../../../src/control-plane/compute/api/deps.js";
import type { Resource } from "../../../../src/control-plane/compute/quotas/resources.js";
import type { AgentBus } from "../../../../src/control-plane/conductor/agent-messages.js";
import { type Apis, createApis } from "../../../../src/control-plane/create-apis.js";
import type { Credentials, ValidateToken } from "../../../../src/control-plane/credentials.js";
import { createIdentity } from "../../../../src/control-plane/identity/identity.js";
import type { LoginUser } from "../../../../src/control-plane/identity/store/bootstrap.js";
import { type ImageAttributes, PLAIN } from "../../../../src/control-plane/image/image.js";
import { ImageTable } from "../../../../src/control-plane/image/image-tables.js";
import type { ComputeNetwork } from "../../../../src/control-plane/network/compute-network.js";
import { openStore } from "../../../../src/control-plane/store/open-store.js";
import type { Store } from "../../../../src/control-plane/store/store.js";
import type { Task } from "../../../../src/control-plane/store/tasks.js";
import {
  type ComputeNodeResources,
  type Flavor,
  type Instance,
  type NewInstance,
  newFlavor,
  type Service,
} from "../../../../src/records/index.js";
import { nodeKeys } from "../../../../src/runtime/node/node-cryptography.js";
import { type VirtualRuntime, VirtualWorld } from "../../../../src/simulation/virtual-world.js";
import { emptyStore } from "../../../fixtures/empty-store.js";
import { NO_PORT_RESOURCES } from "../../../fixtures/no-port-resources.js";
import { quickDigests } from "../../../fixtures/quick-digests.js";
import { NO_LIMITS } from "../../../fixtures/quota.js";
import { nodeResources } from "../../../fixtures/records.js";
import { Reply } from "../../../fixtures/reply.js";
import { type TestBlockStorage, testBlockStorage } from "../../../fixtures/test-block-storage.js";
import { testNetwork } from "../../../fixtures/test-network.js";

export { Reply };

export const ROOT = "http://127.0.0.1:8774";
export const CIRROS = "c0ffee00-0000-4000-8000-000000000001";

export interface Ask {
  readonly method?: string;
  /** With the mount point and the query: `/compute/v2.1/servers?name=x`. */
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON value, or raw text. */
  readonly body?: unknown;
  /** Default: a token of `admin`. */
  readonly token?: string | undefined;
  /** Minor of the microversion. */
  readonly version?: number | undefined;
}

export interface CastMessage {
  readonly host: string;
  readonly method: string;
  readonly params: unknown;
}

/** The Compute, Identity and Image APIs on an in-memory store, without sockets and agents. */
export class ApiWorld {
  readonly world: VirtualWorld;
  readonly runtime: VirtualRuntime;
  readonly store: Store;
  /** The Network service, which starts with one flat network. */
  readonly network: ComputeNetwork;
  readonly blockStorage: TestBlockStorage;
  readonly apis: Apis;
  readonly casts: CastMessage[] = [];
  readonly calls: CastMessage[] = [];
  /** The traits of all hosts. */
  readonly traits: string[] = [];
  readonly deletedServices: number[] = [];
  /** Changes mirrored to Placement's aggregates: `+ <uuid> <provider name>`. */
  readonly mirrored: string[] = [];
  /** Error of Placement's client when an aggregate is mirrored. */
  mirrorFailure: Error | undefined;
  readonly passwords: Record<LoginUser, string> = { admin: "", demo: "" };
  wakes = 0;
  /** The failure with which each task ends. */
  taskFailure: unknown;
  /** Whether agents reply. */
  agentResponds: boolean;
  /** An agent's reply to each method, or the error instead. */
  readonly agentReplies: Record<string, unknown> = { set_host_enabled: "enabled" };
  deleteService: ComputeDeps["deleteService"];
  /** Quotas. Changes by a test take effect at once. */
  readonly quota: { enforced: boolean; defaults: Record<Resource, number> };
  /** Tokens for Compute and Image of users that the embedded Identity does not have. */
  readonly externalTokens = new Map<string, Credentials>();
  readonly #tokens = new Map<LoginUser, string>();

  private constructor(
    world: VirtualWorld,
    store: Store,
    runtime: VirtualRuntime,
    reclaimInstanceInterval: number,
    crossAzAttach: boolean,
  ) {
    this.world = world;
    this.runtime = runtime;
    this.store = store;
    this.agentResponds = true;
    this.quota = { enforced: true, defaults: { ...NO_LIMITS.defaults } };
    this.deleteService = async (service: Service) => {
      this.deletedServices.push(service.id);
      this.store.services.destroy(service.id);
    };
    const bus: AgentBus = {
      cast: (host, method, params) => {
        this.casts.push({ host, method, params });
      },
      call: async (host, method, params) => {
        this.calls.push({ host, method, params });
        if (!this.agentResponds) {
          throw new ConductorError("MessagingTimeout", `no agent serves ${host}`);
        }
        const reply =
          this.agentReplies[method] ?? new ConductorError("NotImplementedError", `driver fake has no ${method}`);
        if (reply instanceof Error) {
          throw reply;
        }
        return reply as never;
      },
      serves: () => this.agentResponds,
    };
    const identity = createIdentity({ sql: store.database, ...runtime, digests: quickDigests });
    const validate: ValidateToken = (token) => this.externalTokens.get(token) ?? identity.validate(token);
    this.network = testNetwork(store, runtime, validate);
    this.blockStorage = testBlockStorage(store, runtime, validate);
    this.apis = createApis({
      runtime,
      identity: { ...identity, validate },
      digests: quickDigests,
      keys: nodeKeys,
      imageFolder: "/state/glance",
      network: this.network,
      blockStorage: this.blockStorage,
      store,
      bus,
      placement: {
        ...NO_PORT_RESOURCES,
        getProviderTraits: async () => ({ traits: this.traits, generation: 0 }),
        aggregateAddHost: async (uuid, name) => this.#mirror(`+ ${uuid} ${name}`),
        aggregateRemoveHost: async (uuid, name) => this.#mirror(`- ${uuid} ${name}`),
      },
      wake: () => {
        this.wakes += 1;
      },
      taskEnded: async () => this.taskFailure,
      deleteService: (service, options) => this.deleteService(service, options),
      quota: this.quota,
      serviceDownTime: 60,
      crossAzAttach,
      reclaimInstanceInterval,
    });
  }

  async #ready(): Promise<ApiWorld> {
    this.passwords.admin = await this.apis.identity.ensurePassword("admin");
    this.passwords.demo = await this.apis.identity.ensurePassword("demo");
    return this;
  }

  /** Creates a world for the current test. */
  static async open(reclaimInstanceInterval = 0, crossAzAttach = true): Promise<ApiWorld> {
    const world = new VirtualWorld();
    const runtime = world.spawn({ name: "control-plane" });
    return await new ApiWorld(world, emptyStore({ runtime }), runtime, reclaimInstanceInterval, crossAzAttach).#ready();
  }

  /** Creates a world for all tests of a file. */
  static async shared(): Promise<ApiWorld> {
    const world = new VirtualWorld();
    const runtime = world.spawn({ name: "control-plane" });
    return await new ApiWorld(world, await openStore({ path: ":memory:", runtime }), runtime, 0, true).#ready();
  }

  async ask({ method = "GET", url, headers = {}, body, token, version }: Ask): Promise<Reply> {
    const [, mount = "", rest = "", query = ""] =
      /^(\/identity|\/compute|\/image|\/network|\/volume)([^?]*)\??(.*)$/.exec(url) ?? [];
    const handler = this.apis.services[mount as "/compute"];
    const response = await handler({
      method,
      path: rest,
      query,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...(version === undefined ? {} : { "openstack-api-version": `compute 2.${version}` }),
        "x-auth-token": token ?? (await this.token("admin")),
        ...headers,
      },
      body: body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body),
      baseUrl: ROOT + mount,
    });
    return new Reply(response);
  }

  async token(user: LoginUser): Promise<string> {
    const known = this.#tokens.get(user);
    if (known) {
      return known;
    }
    const response = await this.ask({
      method: "POST",
      url: "/identity/v3/auth/tokens",
      token: "",
      body: passwordAuth(user, this.passwords[user], { project: { name: user, domain: { id: "default" } } }),
    });
    const token = response.headers["x-subject-token"] ?? "";
    this.#tokens.set(user, token);
    return token;
  }

  /** Requests an action of a server. */
  act({ uuid }: Instance, body: unknown, version = 1, token?: string): Promise<Reply> {
    return this.ask({ method: "POST", url: `/compute/v2.1/servers/${uuid}/action`, version, body, token });
  }

  /** Forces the service of a dead host down, as an operator does. */
  fence(host: string): void {
    const service = this.store.services.getByHost(host, "nova-compute");
    this.store.services.update(service?.id ?? 0, { forcedDown: true });
  }

  /** Returns the conductor's pending tasks. */
  tasks(): readonly Task[] {
    return this.store.tasks.pending().map(({ task }) => task);
  }

  stateOf({ uuid }: Instance) {
    const { vmState, taskState } = this.store.instances.get(uuid) ?? {};
    return [vmState, taskState];
  }

  #mirror(change: string): void {
    if (this.mirrorFailure) {
      throw this.mirrorFailure;
    }
    this.mirrored.push(change);
  }

  flavor(changes: Partial<Flavor> = {}): Flavor {
    return this.store.flavors.create({ ...TINY, ...changes });
  }

  /** Creates an active image and returns its id. */
  image(attributes: Partial<ImageAttributes> = {}): string {
    const id = crypto.randomUUID();
    const images = new ImageTable(this.store.database, this.runtime.clock);
    images.add(id, { ...PLAIN, visibility: "public", ...attributes });
    images.change(id, ["queued"], { status: "active" });
    return id;
  }

  /** Creates a volume of the project `admin`, of 1 GiB, and returns its id. */
  async volume(attributes: Readonly<Record<string, unknown>> = {}, token?: string): Promise<string> {
    const reply = await this.volumeRequest("POST", "/volumes", { volume: { size: 1, ...attributes } }, token);
    await this.runVolumeWork();
    return String(reply.json("volume", "id"));
  }

  /** Sends a request to Block Storage. @param path below the project */
  volumeRequest(method: string, path: string, body?: unknown, token?: string): Promise<Reply> {
    const url = `/volume/v3${path}`;
    return this.ask({ method, url, body, token, headers: { "openstack-api-version": "volume 3.70" } });
  }

  async volumeStatus(id: string): Promise<unknown> {
    return (await this.volumeRequest("GET", `/volumes/${id}`)).json("volume", "status");
  }

  /** Runs the stored work of Block Storage, as the task runner does. */
  async runVolumeWork(): Promise<void> {
    for (const { id, task } of this.store.tasks.pending()) {
      if (task.kind === "block_storage") {
        const { instanceUuid, ...work } = task;
        await this.blockStorage.worker.run({ ...work, id: instanceUuid }, () => this.store.tasks.finish(id));
      }
    }
  }

  /** Creates a compute host that has just reported, with its node. */
  host(name: string): Service {
    const service = this.store.services.create({ host: name, binary: "nova-compute", topic: "compute", version: 73 });
    this.store.computeNodes.create({
      host: name,
      serviceId: service.id,
      uuid: `00000000-0000-4000-8000-${String(service.id).padStart(12, "0")}`,
      hypervisorHostname: name,
      resources: RESOURCES,
    });
    this.store.services.reportState(service.id);
    return this.store.services.get(service.id) ?? service;
  }

  /** Creates a server that runs on a host, unless `changes` differ. */
  server(host: string | null, changes: Partial<NewInstance> = {}): Instance {
    const node = host === null ? null : this.store.computeNodes.byHost(host)[0];
    const flavor = this.store.flavors.getByFlavorid("1") ?? this.flavor();
    const uuid = changes.uuid ?? crypto.randomUUID();
    this.store.mappings.mapInstance(uuid, changes.projectId ?? this.projectId("admin"), "cell1");
    return this.store.instances.create({
      uuid,
      projectId: this.projectId("admin"),
      userId: quickDigests.sha256("user/admin").slice(0, 32),
      displayName: "vm1",
      hostname: "vm1",
      reservationId: "r-xawgt94c",
      imageRef: CIRROS,
      flavor,
      host,
      node: node?.hypervisorHostname ?? null,
      computeId: node?.id ?? null,
      launchedOn: host,
      vmState: "active",
      taskState: null,
      powerState: 1,
      launchedAt: this.world.now,
      ...changes,
    });
  }

  userId(name: string): string {
    return quickDigests.sha256(`user/${name}`).slice(0, 32);
  }

  projectId(name: string): string {
    return quickDigests.sha256(`project/${name}`).slice(0, 32);
  }
}

export function passwordAuth(name: string, password: string, scope?: unknown): unknown {
  return {
    auth: {
      identity: { methods: ["password"], password: { user: { name, password, domain: { id: "default" } } } },
      ...(scope === undefined ? {} : { scope }),
    },
  };
}

export const TINY = newFlavor({ flavorid: "1", name: "m1.tiny", vcpus: 1, memoryMb: 512, rootGb: 1 });

export const RESOURCES: ComputeNodeResources = nodeResources({
  vcpus: 1000,
  memoryMb: 800_000,
  localGb: 600_000,
  memoryMbUsed: 512,
  freeRamMb: 799_488,
  freeDiskGb: 600_000,
  diskAvailableLeast: 0,
  hypervisorVersion: 1000,
  cpuInfo: '{"arch": "x86_64", "model": "Nehalem"}',
});
