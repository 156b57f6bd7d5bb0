import type { InstanceFilters, MigrationFilters } from "../../conductor/methods.js";
import type {
  BuildRequest,
  ComputeNode,
  ComputeNodeResources,
  Flavor,
  Instance,
  InstanceAction,
  InstanceActionEvent,
  InstanceChanges,
  InstanceFault,
  Migration,
  MigrationChanges,
  MigrationStatus,
  MigrationType,
  NewInstance,
  RequestSpec,
  Service,
  TaskState,
  VmState,
} from "../../records/index.js";
import type { AggregateStore } from "./aggregate-store.js";
import type { Sql } from "./sql.js";
import type { StoredTask, Task } from "./task.js";

/**
 * The state of record: one SQLite file, one owner. Synchronous; every method is one transaction, and inside
 * {@link Store.transaction} all of them are one. Uniqueness (spec 1.1) and references are the database's own rules.
 * The same errors as `ConductorMethods` says.
 */
export interface Store {
  readonly services: ServiceStore;
  readonly computeNodes: ComputeNodeStore;
  readonly instances: InstanceStore;
  readonly migrations: MigrationStore;
  readonly flavors: FlavorStore;
  readonly aggregates: AggregateStore;
  readonly actions: ActionStore;
  readonly requests: RequestStore;
  readonly mappings: MappingStore;
  readonly tasks: TaskStore;
  readonly messages: MessageStore;
  readonly leases: LeaseStore;
  /** The same connection, for embedded services that keep tables of their own (prefix `placement_` …) in the same file. */
  readonly database: Sql;
  /** Runs `work` as one transaction; a throw undoes all of it. May be nested. */
  transaction<T>(work: () => T): T;
  /**
   * Called after commit with what changed; the id is the row's, for instances the uuid, for messages the host. For in-process
   * waiters (scheduler, status display), never for correctness. An error of a listener is logged and goes no further.
   */
  onChange(listener: (change: StoreChange) => void): () => void;
  close(): void;
}

export interface StoreChange {
  readonly kind: "service" | "compute_node" | "instance" | "migration" | "flavor" | "aggregate" | "message" | "task";
  readonly id: number | string;
}

export interface ServiceStore {
  get(id: number): Service | null;
  getByUuid(uuid: string): Service | null;
  getByHost(host: string, binary: string): Service | null;
  list(filter?: { readonly host?: string; readonly binary?: string }): Service[];
  create(service: {
    readonly host: string;
    readonly binary: string;
    readonly topic: string;
    readonly version: number;
    readonly disabled?: boolean;
    readonly disabledReason?: string | null;
  }): Service;
  update(
    id: number,
    changes: Partial<Pick<Service, "version" | "disabled" | "disabledReason" | "forcedDown">>,
  ): Service;
  reportState(id: number): Service;
  minimumVersion(binary: string): number;
  /** Soft-deletes; for nova-compute also its compute nodes (by service id or host), with mapped = 0 (spec 7.1 step 8). */
  destroy(id: number): void;
}

export interface ComputeNodeStore {
  get(id: number): ComputeNode | null;
  getByUuid(uuid: string, options?: { readonly readDeleted?: boolean }): ComputeNode | null;
  getByHostAndNode(host: string, node: string): ComputeNode | null;
  byHost(host: string): ComputeNode[];
  byUuids(uuids: readonly string[]): ComputeNode[];
  byHypervisorHostname(name: string): ComputeNode[];
  /** Hosts with an alive node of this hypervisor type, each once. */
  hostsOfType(hypervisorType: string): string[];
  /** Alive, by id; paging for os-hypervisors. */
  list(): ComputeNode[];
  create(
    node: {
      readonly host: string;
      readonly serviceId: number;
      readonly uuid: string;
      readonly hypervisorHostname: string;
      readonly resources: ComputeNodeResources;
    },
    options?: { readonly exclusive?: boolean },
  ): ComputeNode;
  save(
    id: number,
    changes: Partial<ComputeNodeResources & { readonly host: string; readonly serviceId: number }>,
    options?: { readonly undelete?: boolean },
  ): ComputeNode;
  destroy(id: number, host: string): boolean;
}

export interface InstanceStore {
  get(uuid: string, options?: { readonly readDeleted?: boolean }): Instance | null;
  byHost(host: string): Instance[];
  byHostAndNode(host: string, node: string): Instance[];
  byFilters(filters: InstanceFilters): Instance[];
  /** For the Compute API; newest first; soft-deleted rows only when asked for. */
  list(query: InstanceQuery): Instance[];
  /** The same list without marker and limit, in its order: for filters that SQL cannot judge. */
  names(query: InstanceQuery): readonly { readonly uuid: string; readonly displayName: string }[];
  countByHost(host: string): number;
  create(instance: NewInstance): Instance;
  save(
    uuid: string,
    changes: InstanceChanges,
    options?: {
      /** Null: none. */
      readonly expectedHost?: string | null;
      readonly expectedTaskState?: readonly (TaskState | null)[];
      readonly expectedVmState?: readonly VmState[];
      readonly ofRequest?: string;
    },
  ): Instance;
  destroy(uuid: string, options?: { readonly guardHostIsNull?: boolean }): Instance;
  addFault(fault: Omit<InstanceFault, "createdAt">): void;
  /** The newest one. */
  fault(uuid: string): InstanceFault | null;
}

export interface InstanceQuery {
  /** Absent: all projects. */
  readonly projectId?: string;
  readonly userId?: string;
  readonly host?: string;
  readonly node?: string;
  readonly vmStates?: readonly VmState[];
  readonly taskStates?: readonly (TaskState | null)[];
  readonly flavorId?: string;
  readonly imageRef?: string;
  readonly uuids?: readonly string[];
  readonly changesSince?: number;
  readonly changesBefore?: number;
  readonly deleted?: boolean;
  readonly sort?: readonly { readonly key: keyof Instance; readonly direction: "asc" | "desc" }[];
  readonly limit?: number;
  readonly marker?: string;
}

export interface MigrationStore {
  get(id: number): Migration | null;
  getByUuid(uuid: string): Migration | null;
  byFilters(filters: MigrationFilters): Migration[];
  inProgress(host: string, node: string, options?: { readonly includeError?: boolean }): Migration[];
  create(migration: {
    readonly instanceUuid: string;
    readonly migrationType: MigrationType;
    readonly status: MigrationStatus;
    readonly changes?: MigrationChanges;
  }): Migration;
  save(
    id: number,
    changes: MigrationChanges,
    options?: { readonly expectedStatus?: readonly MigrationStatus[] },
  ): Migration;
  /** Gives rows without one a uuid, deleted rows too, oldest first (spec 1.5). */
  fillUuids(limit: number): { readonly needed: number; readonly completed: number };
}

export interface FlavorStore {
  getByFlavorid(flavorid: string): Flavor | null;
  list(): Flavor[];
  /** @throws FlavorExists, FlavorIdExists */
  create(flavor: Omit<Flavor, "id">): Flavor;
  setExtraSpecs(flavorid: string, extraSpecs: Readonly<Record<string, string>>): Flavor;
  update(flavorid: string, changes: Pick<Flavor, "description">): Flavor;
  /** Ids of the projects that see the flavor although it is not public. */
  projects(flavorid: string): string[];
  /** @throws FlavorNotFound, FlavorAccessExists */
  addProject(flavorid: string, projectId: string): void;
  /** @throws FlavorNotFound, FlavorAccessNotFound */
  removeProject(flavorid: string, projectId: string): void;
  destroy(flavorid: string): void;
}

export interface ActionStore {
  start(action: {
    readonly action: string;
    readonly instanceUuid: string;
    readonly requestId: string;
    readonly userId: string | null;
    readonly projectId: string | null;
  }): InstanceAction;
  /** Joins the action of that request id, else the newest; null when the instance has none. */
  startEvent(event: {
    readonly instanceUuid: string;
    readonly event: string;
    readonly host: string | null;
    readonly requestId: string;
  }): number | null;
  finishEvent(
    eventId: number,
    outcome: { readonly result: "Success" | "Error"; readonly details?: string; readonly traceback?: string },
  ): void;
  list(instanceUuid: string): InstanceAction[];
  get(instanceUuid: string, requestId: string): InstanceAction | null;
  events(actionId: number): InstanceActionEvent[];
}

export interface RequestStore {
  createSpec(spec: RequestSpec): void;
  spec(instanceUuid: string): RequestSpec | null;
  saveSpec(spec: RequestSpec): void;
  createBuildRequest(request: Omit<BuildRequest, "createdAt">): void;
  buildRequest(instanceUuid: string): BuildRequest | null;
  buildRequests(projectId?: string): BuildRequest[];
  /**
   * Consumers of allocations that a build or a move still works on.
   * @param endedAfter a migration that ended later counts; ms
   */
  consumersUnderWay(consumers: readonly string[], endedAfter: number): string[];
  /** False when it was not there: the build was cancelled (or is under way). */
  destroyBuildRequest(instanceUuid: string): boolean;
}

/** Which cell an instance or host is in; `cell` null until mapped. A host is mapped when it gets a compute node. */
export interface MappingStore {
  mapInstance(instanceUuid: string, projectId: string, cell: "cell0" | "cell1" | null): void;
  instance(instanceUuid: string): { readonly cell: "cell0" | "cell1" | null; readonly queuedForDelete: boolean } | null;
  queueForDelete(instanceUuid: string): void;
  host(host: string): boolean;
  unmapHost(host: string): void;
}

/** What the conductor still has to do, oldest first. */
export interface TaskStore {
  add(task: Task): StoredTask;
  pending(): StoredTask[];
  finish(id: number): void;
}

/** Casts that agents have not taken yet, and the answers of exactly-once calls. */
export interface MessageStore {
  /** `params` is JSON text. */
  enqueue(message: {
    readonly host: string;
    readonly method: string;
    readonly params: string;
    readonly requestId: string;
  }): number;
  /** Oldest first. */
  pending(host: string, options?: { readonly after?: number; readonly limit?: number }): QueuedMessage[];
  taken(id: number): void;
  /** The stored answer (JSON text) of a call of that agent boot, if it was carried out. */
  answer(bootId: string, callId: number): string | null;
  recordAnswer(bootId: string, callId: number, answer: string): void;
  /** The agent has seen every answer up to `callId`. */
  forgetAnswers(bootId: string, callId: number): void;
  /** Drops what was recorded before that time (ms): the agents of those boots have long given up. */
  forgetAnswersBefore(time: number): void;
}

/** The leases of hosts (spec 2.4 G6). Kept so that a restart of the control plane gives no host away early. */
export interface LeaseStore {
  get(host: string): HostLease | null;
  list(): HostLease[];
  /** Gives the host to this holder, whoever had it. */
  put(lease: HostLease): void;
  /** The epoch of the present holder, or the last one; 0 before the first. */
  epoch(host: string): number;
  /** For the next holder: greater than any before, also than those that a lost or older state of record gave. */
  nextEpoch(host: string): number;
  /** False when that boot did not hold it. */
  remove(host: string, bootId: string): boolean;
}

export interface HostLease {
  readonly host: string;
  /** One life of one agent process. */
  readonly bootId: string;
  readonly pid: number;
  /** See `Processes.machine`. */
  readonly machine: string;
  readonly acquiredAt: number;
  /** When the control plane last heard of the holder, ms; exact when the connection has ended. */
  readonly seenAt: number;
}

export interface QueuedMessage {
  readonly id: number;
  readonly method: string;
  readonly params: string;
  readonly requestId: string;
}
