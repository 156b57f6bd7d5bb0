import { type Audit, type AuditOptions, audit } from "../../../src/audit/audit.js";
import type { CloudConfig } from "../../../src/audit/cloud/cloud-config.js";
import { type Cloud, openCloud } from "../../../src/audit/cloud/open-cloud.js";
import type { Held, Inventory } from "../../../src/audit/read/records.js";
import type { Instance, Migration, MigrationStatus, MigrationType } from "../../../src/records/index.js";
import { type HttpClient, HttpConnectFailure, type HttpRequest, type HttpResponse } from "../../../src/runtime/http.js";
import { TestPlacement } from "../../fixtures/world/placement.js";
import { ApiWorld, ROOT, type TINY } from "../control-plane/compute/api-world.js";

/** A Placement that accepts the token `admin`, without Identity. */
export interface SomePlacement {
  send(request: Omit<HttpRequest, "url">, path: string): Promise<HttpResponse>;
}

/** JSON of Placement: provider uuid → amounts, or an object that contains it. */
type Json = Readonly<Record<string, unknown>>;
type Four = readonly [Json, Json, Json, Json];

export const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };
/** The totals of ApiWorld's compute nodes. */
const TOTALS = { VCPU: 1000, MEMORY_MB: 800_000, DISK_GB: 600_000 };

export function inventory(total: number, more: Partial<Inventory> = {}): Inventory {
  return {
    total,
    reserved: 0,
    min_unit: 1,
    max_unit: total,
    step_size: 1,
    allocation_ratio: 1,
    ...more,
  };
}

export interface HostOptions {
  /** Default: VCPU, MEMORY_MB and DISK_GB with the compute node's totals. If null, no provider is created. */
  readonly inventories?: Readonly<Record<string, Inventory>> | null;
  readonly type?: string;
  readonly traits?: readonly string[];
}

/** The Compute API and Identity over records in memory, and a Placement, which is the embedded one by default. */
export class AuditWorld {
  readonly api: ApiWorld;
  readonly placement: SomePlacement;
  /** Requests that the audit has sent, as `METHOD path`. */
  readonly sent: string[] = [];
  /** The token for requests to the Network service; default: that of the audit. */
  networkToken: string | undefined;
  /** Called before each request of the audit. If it returns `lose`, the response is lost. */
  meddle: (method: string, path: string) => undefined | "lose" | Promise<undefined | "lose"> = () => undefined;

  private constructor(api: ApiWorld, placement: SomePlacement) {
    this.api = api;
    this.placement = placement;
  }

  static async open(placement?: SomePlacement): Promise<AuditWorld> {
    const api = await ApiWorld.open();
    return new AuditWorld(api, placement ?? embedded(api));
  }

  /** The audit's HTTP client, routed to the handlers in this process. */
  readonly http: HttpClient = {
    request: async (request) => {
      const path = request.url.slice(ROOT.length);
      this.sent.push(`${request.method} ${path}`);
      const fate = await this.meddle(request.method, path);
      const response = await this.#route(request, path);
      if (fate === "lose") {
        throw new HttpConnectFailure(request.url, "ECONNRESET");
      }
      return response;
    },
    close: async () => undefined,
  };

  async #route(request: HttpRequest, path: string): Promise<HttpResponse> {
    if (path.startsWith("/placement")) {
      return this.placement.send(
        { ...request, headers: { ...request.headers, "x-auth-token": "admin" } },
        path.slice("/placement".length),
      );
    }
    const headers = request.headers ?? {};
    const ownToken = headers["x-auth-token"] ?? "";
    const token = path.startsWith("/network") ? (this.networkToken ?? ownToken) : ownToken;
    return this.api.ask({
      method: request.method,
      url: path,
      headers: { ...headers, "x-auth-token": token },
      token,
      ...(request.body === undefined ? {} : { body: request.body }),
    });
  }

  get config(): CloudConfig {
    return {
      name: "devstack",
      authUrl: `${ROOT}/identity/v3`,
      credentials: {
        kind: "password",
        user: { name: "admin", domain: { id: "default" } },
        password: this.api.passwords.admin,
      },
      scope: { kind: "project", name: "admin", domain: { id: "default" } },
      interface: "public",
      region: "RegionOne",
      endpoints: {},
    };
  }

  /** Logs in once, since verifying a password is slow. */
  cloud(): Promise<Cloud> {
    this.#cloud ??= openCloud(this.http, this.config);
    return this.#cloud;
  }

  async audit(options: Partial<AuditOptions> = {}): Promise<Audit> {
    return this.auditOf(await this.cloud(), options);
  }

  auditOf(cloud: Cloud, options: Partial<AuditOptions> = {}): Promise<Audit> {
    const clock = { now: () => this.api.world.now };
    return audit(cloud, {
      clock,
      maxShare: 1,
      thorough: false,
      onProgress: () => undefined,
      ...options,
    });
  }

  /** Returns `code name-or-uuid` of each finding. */
  async found(options: Partial<AuditOptions> = {}): Promise<string[]> {
    const { findings } = await this.audit(options);
    return findings.map(({ code, subject }) => `${code} ${subject.name === "" ? subject.uuid : subject.name}`);
  }

  /** Advances the clock until migrations count as settled; hosts go down as well. */
  async settle(): Promise<void> {
    await this.api.world.advance(600_000);
  }

  /** Reports all hosts except those in `down` as up. */
  reportAll(...down: readonly string[]): void {
    for (const service of this.api.store.services.list({ binary: "nova-compute" })) {
      if (!down.includes(service.host)) {
        this.api.store.services.reportState(service.id);
      }
    }
  }

  /** Creates a compute host with its node and its provider. Returns the uuid of both. */
  async host(
    name: string,
    { inventories, type = "QEMU", traits = ["COMPUTE_NODE"] }: HostOptions = {},
  ): Promise<string> {
    this.api.host(name);
    const [node] = this.api.store.computeNodes.byHost(name);
    if (!node) {
      throw new Error(`no node of ${name}`);
    }
    this.api.store.computeNodes.save(node.id, { hypervisorType: type });
    const stock = Object.fromEntries(Object.entries(TOTALS).map(([each, total]) => [each, inventory(total)]));
    if (inventories !== null) {
      await this.provider(node.uuid, name, inventories ?? stock, { traits });
    }
    return node.uuid;
  }

  async provider(
    uuid: string,
    name: string,
    inventories: Readonly<Record<string, Inventory>>,
    more: {
      readonly parent?: string;
      readonly traits?: readonly string[];
      readonly aggregates?: readonly string[];
    } = {},
  ): Promise<void> {
    const { parent, traits = [], aggregates = [] } = more;
    const path = `/resource_providers/${uuid}`;
    await this.ask("POST", "/resource_providers", { uuid, name, ...(parent ? { parent_provider_uuid: parent } : {}) });
    for (const trait of traits.filter((each) => each.startsWith("CUSTOM_"))) {
      await this.ask("PUT", `/traits/${trait}`);
    }
    for (const each of Object.keys(inventories).filter((one) => one.startsWith("CUSTOM_"))) {
      await this.ask("PUT", `/resource_classes/${each}`);
    }
    await this.ask("PUT", `${path}/inventories`, { resource_provider_generation: 0, inventories });
    await this.ask("PUT", `${path}/traits`, { resource_provider_generation: 1, traits });
    if (aggregates.length > 0) {
      const { generation } = await this.ask("GET", path);
      await this.ask("PUT", `${path}/aggregates`, { resource_provider_generation: generation, aggregates });
    }
  }

  /** Replaces a consumer's allocations. @param more `type`: absent as in Nova's writes */
  async allocate(consumer: string, allocations: Held, more: { project?: string; user?: string; type?: string } = {}) {
    const { consumer_generation } = await this.ask("GET", `/allocations/${consumer}`);
    const admin = this.api.projectId("admin");
    await this.ask(
      "PUT",
      `/allocations/${consumer}`,
      {
        allocations: Object.fromEntries(Object.entries(allocations).map(([uuid, resources]) => [uuid, { resources }])),
        project_id: more.project ?? admin,
        user_id: more.user ?? this.userId,
        consumer_generation: consumer_generation ?? null,
        ...(more.type === undefined ? {} : { consumer_type: more.type }),
      },
      more.type === undefined ? 36 : 38,
    );
  }

  get userId(): string {
    return this.server0.userId;
  }

  /** Sends an administrator's request to Placement. @throws if the response is not a success */
  async ask(method: HttpRequest["method"], path: string, body?: unknown, version = 39): Promise<Json> {
    const response = await this.placement.send(
      {
        method,
        headers: {
          "x-auth-token": "admin",
          "openstack-api-version": `placement 1.${version}`,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      },
      path,
    );
    if (response.status >= 300) {
      throw new Error(`${method} ${path}: ${response.status} ${response.body}`);
    }
    return response.body === "" ? {} : JSON.parse(response.body);
  }

  /** Creates an active server without allocations. */
  server(host: string | null, name: string, changes: Parameters<ApiWorld["server"]>[1] = {}): Instance {
    return this.api.server(host, { displayName: name, uuid: this.uuid(), ...changes });
  }

  /** Creates a server with the allocations that it needs. */
  async healthy(host: string, name: string, changes: Parameters<ApiWorld["server"]>[1] = {}): Promise<Instance> {
    const server = this.server(host, name, changes);
    await this.allocate(server.uuid, { [this.nodeUuid(host)]: NEED });
    return server;
  }

  migration(
    server: Pick<Instance, "uuid">,
    migrationType: MigrationType,
    status: MigrationStatus,
    [source, dest]: readonly [string, string],
  ): Migration {
    const [to] = this.api.store.computeNodes.byHost(dest);
    return this.api.store.migrations.create({
      instanceUuid: server.uuid,
      migrationType,
      status,
      changes: {
        sourceCompute: source,
        sourceNode: source,
        destCompute: dest,
        destNode: dest,
        destComputeId: to?.id ?? 0,
      },
    });
  }

  nodeUuid(host: string): string {
    return this.api.store.computeNodes.byHost(host)[0]?.uuid ?? "";
  }

  flavor(flavorid: string, changes: Partial<typeof TINY>): Instance["flavor"] {
    return this.api.flavor({ flavorid, name: flavorid, ...changes });
  }

  #cloud: Promise<Cloud> | undefined;
  #uuids = 0;
  #server0: Pick<Instance, "userId"> | undefined;

  /** Returns unique uuids, the same in each run. */
  uuid(): string {
    this.#uuids += 1;
    return `d0000000-0000-4000-8000-${String(this.#uuids).padStart(12, "0")}`;
  }

  get server0(): Pick<Instance, "userId"> {
    this.#server0 ??= { userId: adminUser(this.api) };
    return this.#server0;
  }

  /** Returns all of Placement's data on consumers except generations. */
  async consumers(uuids: Iterable<string>): Promise<Record<string, unknown>> {
    const entries = [...uuids].map(async (uuid) => {
      const { consumer_generation, allocations, ...owner } = await this.ask("GET", `/allocations/${uuid}`);
      const held = Object.entries(allocations as Record<string, { resources: unknown }>);
      return [uuid, { ...owner, held: Object.fromEntries(held.map(([each, { resources }]) => [each, resources])) }];
    });
    return Object.fromEntries(await Promise.all(entries));
  }

  /** Returns all providers and consumers of Placement except generations. */
  async everything(): Promise<Json> {
    const { resource_providers } = await this.ask("GET", "/resource_providers");
    const consumers = new Set<string>();
    const providers = await Promise.all(
      (resource_providers as Record<string, string>[]).map(async ({ uuid, name, parent_provider_uuid }) => {
        const parts = ["inventories", "traits", "aggregates", "allocations"].map((part) =>
          this.ask("GET", `/resource_providers/${uuid}/${part}`),
        );
        const [{ inventories }, { traits }, { aggregates }, { allocations }] = (await Promise.all(
          parts,
        )) as unknown as Four;
        for (const consumer of Object.keys(allocations as object)) {
          consumers.add(consumer);
        }
        const sorted = { traits: (traits as string[]).toSorted(), aggregates: (aggregates as string[]).toSorted() };
        return [uuid, { name, parent_provider_uuid, inventories, ...sorted }] as const;
      }),
    );
    return { providers: Object.fromEntries(providers), consumers: await this.consumers([...consumers].sort()) };
  }
}

function adminUser(api: ApiWorld): string {
  const probe = api.server(null, { uuid: "d0000000-0000-4000-8000-ffffffffffff", vmState: "error" });
  api.store.instances.destroy(probe.uuid);
  return probe.userId;
}

function embedded(api: ApiWorld): SomePlacement {
  const service = new TestPlacement(api.runtime);
  return {
    send: async ({ method, headers = {}, body = "" }, target) => {
      const [path = "", query = ""] = target.split("?");
      return service.handle({ method, path, query, headers, body, baseUrl: `${ROOT}/placement` });
    },
  };
}
