import { expect, onTestFinished } from "vitest";
import { ConductorError } from "../../../../../src/conductor-client/errors.js";
import type { AgentBus } from "../../../../../src/control-plane/conductor/agent-messages.js";
import type { TaskRunner } from "../../../../../src/control-plane/conductor/task-runner.js";
import type { ComputeNetwork } from "../../../../../src/control-plane/network/compute-network.js";
import type { Scheduler, SchedulerConfig } from "../../../../../src/control-plane/scheduler/scheduler.js";
import type { Store } from "../../../../../src/control-plane/store/store.js";
import type { Task } from "../../../../../src/control-plane/store/tasks.js";
import type { ReportClient } from "../../../../../src/placement-client/report-client.js";
import type { Flavor, Instance, RequestSpec, VmState } from "../../../../../src/records/index.js";
import { emptyStore } from "../../../../fixtures/empty-store.js";
import { aFlavor, anInstance, nodeResources } from "../../../../fixtures/records.js";
import { testNetwork } from "../../../../fixtures/test-network.js";
import { conductorTasks } from "../../../../fixtures/world/conductor-tasks.js";
import { inventoryOf, PlacementBench } from "../../../placement-client/bench.js";

export const FLAVOR: Flavor = aFlavor();
export const NEED = { VCPU: 1, MEMORY_MB: 512, DISK_GB: 1 };

const RESOURCES = nodeResources({ memoryMb: 4096, freeRamMb: 4096, hypervisorVersion: 1000 });

export interface Cast {
  readonly host: string;
  readonly method: string;
  readonly params: unknown;
}

/** Store, Placement, scheduler and conductor in one process, without agents. It records messages to agents. */
export class ConductorBench {
  readonly placementBench: PlacementBench;
  readonly store: Store;
  /** The Network service, which starts with one flat network. */
  readonly network: ComputeNetwork;
  readonly placement: ReportClient;
  readonly scheduler: Scheduler;
  readonly casts: Cast[] = [];
  /** Called with each message to an agent, before its response. */
  readonly watchers = new Set<(what: "cast" | "call", message: Cast) => void>();
  /** Responses of agents to calls by host; hosts without one are not served. */
  readonly agentReplies = new Map<string, (call: Cast) => unknown>();
  readonly quirks = new Set<string>();
  /** Settings; tasks read them when they need them. */
  readonly settings = { allowResizeToSameHost: true, migrateMaxRetries: -1, upstreamQuirks: this.quirks };
  /** Messages to agents, and Placement requests of tasks, that lack a request id. */
  readonly #unnamed: string[] = [];
  #runner: TaskRunner;
  #last = 0;

  private constructor(placementBench: PlacementBench, store: Store, options: Partial<SchedulerConfig>) {
    this.placementBench = placementBench;
    this.store = store;
    this.network = testNetwork(store, placementBench.runtime);
    this.placement = placementBench.client({ userAgent: "nova-conductor" });
    const bus: AgentBus = {
      cast: (host, method, params, requestId) => {
        this.#note(method, requestId, params);
        this.casts.push({ host, method, params });
        store.messages.enqueue({ host, method, params: JSON.stringify(params), requestId });
        this.#notify("cast", { host, method, params });
      },
      call: async (host, method, params, { requestId }) => {
        this.#note(method, requestId, params);
        this.#notify("call", { host, method, params });
        const getReply = this.agentReplies.get(method);
        if (!getReply) {
          throw new ConductorError("MessagingTimeout", `no agent serves ${host}`);
        }
        return (await getReply({ host, method, params })) as never;
      },
      serves: () => false,
    };
    const { placement, settings } = this;
    const { runtime } = placementBench;
    const parts = conductorTasks({ store, bus, placement, runtime, scheduler: options, settings });
    this.scheduler = parts.scheduler;
    this.newRunner = () => conductorTasks({ store, bus, placement, runtime, scheduler: options, settings }).runner;
    this.#runner = parts.runner;
    this.#runner.start();
  }

  static async open(options: Partial<SchedulerConfig> = {}): Promise<ConductorBench> {
    const placementBench = new PlacementBench();
    const bench = new ConductorBench(placementBench, emptyStore({ runtime: placementBench.runtime }), options);
    onTestFinished(() => expect(bench.#unnamed, "without the id of their request").toEqual([]));
    return bench;
  }

  /** Creates another conductor over the same state. */
  readonly newRunner: () => TaskRunner;

  /** Kills the conductor and starts it again. */
  async restart(): Promise<void> {
    const before = this.placementBench.sent.length;
    this.#runner = this.newRunner();
    this.#runner.start();
    await this.#runner.idle();
    this.#noteRequests(before);
  }

  /** Creates a compute host that has just reported, with its node and provider. */
  async host(
    name: string,
    options: {
      readonly vcpus?: number;
      readonly cpuRatio?: number;
      readonly version?: number;
      readonly memoryMb?: number;
      readonly zone?: string;
    } = {},
  ): Promise<string> {
    this.#last += 1;
    const uuid = `00000000-0000-4000-8000-${String(this.#last).padStart(12, "0")}`;
    const version = options.version ?? 73;
    const service = this.store.services.create({ host: name, binary: "nova-compute", topic: "compute", version });
    this.store.computeNodes.create({
      host: name,
      serviceId: service.id,
      uuid,
      hypervisorHostname: name,
      resources: RESOURCES,
    });
    this.store.services.reportState(service.id);
    const tree = await this.placement.getProviderTreeAndEnsureRoot(uuid, name);
    tree.updateInventory(uuid, {
      VCPU: { ...inventoryOf(options.vcpus ?? 8), allocationRatio: options.cpuRatio ?? 1 },
      MEMORY_MB: inventoryOf(options.memoryMb ?? 4096),
      DISK_GB: inventoryOf(100),
    });
    tree.addTraits(uuid, "COMPUTE_NODE", ...(version >= 73 ? ["OWNER_NOVA"] : []));
    await this.placement.updateFromProviderTree(tree);
    this.placementBench.mark();
    return uuid;
  }

  service(host: string) {
    const service = this.store.services.getByHost(host, "nova-compute");
    if (service === null) {
      throw new Error(`no service on ${host}`);
    }
    return service;
  }

  /** Stores the records of POST /servers; the task is not run yet. */
  request(
    options: {
      readonly availabilityZone?: string;
      readonly schedulerHints?: RequestSpec["schedulerHints"];
    } & Partial<Task & { kind: "build_instances" }> = {},
  ): string {
    const uuid = this.placementBench.runtime.random.uuid();
    const { availabilityZone = null, schedulerHints = {}, ...task } = options;
    const instance = this.#draft(uuid);
    this.store.mappings.mapInstance(uuid, instance.projectId, null);
    this.store.requests.createSpec({
      instanceUuid: uuid,
      projectId: instance.projectId,
      userId: instance.userId,
      flavor: FLAVOR,
      imageRef: instance.imageRef,
      isBfv: false,
      availabilityZone,
      numInstances: 1,
      schedulerHints,
    });
    this.store.requests.createBuildRequest({ instanceUuid: uuid, projectId: instance.projectId, instance });
    this.store.tasks.add({ kind: "build_instances", instanceUuid: uuid, requestId: `req-${uuid}`, ...task });
    return uuid;
  }

  /** Adds a task and runs all pending tasks. */
  async run(task?: Task): Promise<void> {
    if (task) {
      this.store.tasks.add(task);
    }
    const before = this.placementBench.sent.length;
    this.#runner.wake();
    await this.#runner.idle();
    this.#noteRequests(before);
  }

  #noteRequests(from: number): void {
    for (const { method, path, headers } of this.placementBench.sent.slice(from)) {
      this.#note(`${method} ${path}`, headers["x-openstack-request-id"]);
    }
  }

  #notify(what: "cast" | "call", message: Cast): void {
    for (const watcher of this.watchers) {
      watcher(what, message);
    }
  }

  #note(what: string, requestId: string | undefined, params: unknown = { requestId }): void {
    if (!requestId || (params as { readonly requestId?: string }).requestId !== requestId) {
      this.#unnamed.push(what);
    }
  }

  /** Creates an active server on a host, with its allocation. */
  async server(host: string, vmState: VmState = "active"): Promise<Instance> {
    const uuid = this.placementBench.runtime.random.uuid();
    const node = this.store.computeNodes.byHost(host)[0];
    if (!node) {
      throw new Error(`no node on ${host}`);
    }
    const { id: _id, deleted: _deleted, ...draft } = this.#draft(uuid);
    const { projectId, userId } = draft;
    this.store.instances.create({
      ...draft,
      host,
      node: node.hypervisorHostname,
      computeId: node.id,
      launchedOn: host,
      vmState,
      taskState: null,
    });
    this.store.mappings.mapInstance(uuid, projectId, "cell1");
    this.store.requests.createSpec({
      instanceUuid: uuid,
      projectId,
      userId,
      flavor: FLAVOR,
      imageRef: "",
      isBfv: false,
      availabilityZone: null,
      numInstances: 1,
      schedulerHints: {},
    });
    const request = { allocations: { [node.uuid]: { resources: NEED } } };
    await this.placement.claimResources({
      consumer: uuid,
      request,
      projectId,
      userId,
      version: "1.36",
      held: "double",
    });
    this.placementBench.mark();
    return this.instance(uuid);
  }

  instance(uuid: string): Instance {
    const instance = this.store.instances.get(uuid, { readDeleted: true });
    if (instance === null) {
      throw new Error(`no instance ${uuid}`);
    }
    return instance;
  }

  /** Returns the consumer's allocations by host name. */
  async held(consumer: string): Promise<Record<string, unknown>> {
    const { allocations } = await this.placement.getAllocationsForConsumer(consumer);
    return Object.fromEntries(
      Object.entries(allocations).map(([uuid, { resources }]) => [
        this.store.computeNodes.getByUuid(uuid)?.host ?? uuid,
        resources,
      ]),
    );
  }

  /** Creates the instance of a server that the API has just accepted. */
  #draft(uuid: string): Instance {
    return anInstance({
      id: 0,
      uuid,
      displayName: "vm1",
      hostname: "vm1",
      reservationId: "r-1",
      imageRef: "c0ffee00-0000-4000-8000-000000000001",
      host: null,
      node: null,
      computeId: null,
      launchedOn: null,
      vmState: "building",
      taskState: "scheduling",
      powerState: 0,
      flavor: FLAVOR,
      instanceTypeId: FLAVOR.id,
      vcpus: FLAVOR.vcpus,
      memoryMb: FLAVOR.memoryMb,
      rootGb: FLAVOR.rootGb,
      createdAt: 0,
    });
  }
}
