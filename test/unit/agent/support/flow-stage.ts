import type { AgentContext } from "../../../../src/agent/context.js";
import { NO_METRICS } from "../../../../src/agent/metrics/metrics.js";
import type { InstanceMethod, ReplyOf, RequestOf } from "../../../../src/agent/operations/flow/contract.js";
import { createOperations, type Operations } from "../../../../src/agent/operations/operations.js";
import type { ResourceTracker } from "../../../../src/agent/tracker/resource-tracker.js";
import { HostVolumes } from "../../../../src/agent/volumes/host-volumes.js";
import type { HostSession } from "../../../../src/conductor-client/port.js";
import type { QuirkName } from "../../../../src/config/quirks.js";
import type { Instance, InstanceChanges, Migration, MigrationChanges } from "../../../../src/records/index.js";
import { createVirtualRuntime } from "../../../../src/simulation/virtual-world.js";
import type { DriverHost } from "../../../../src/virt/driver-host.js";
import type { VolumeService } from "../../../../src/volume-client/volume-service.js";
import { aComputeNode, aFlavor, aMigration, anInstance } from "../../../fixtures/records.js";

/** One external call of an operation: the name, then the arguments. */
export type Line = readonly [call: string, ...args: unknown[]];

/** The reply to a call: an error is thrown, a function called. */
type Reply = unknown;

export const OLD = aFlavor({ id: 1, vcpus: 1, memoryMb: 512, rootGb: 1 });
export const NEW = aFlavor({
  id: 2,
  flavorid: "2",
  name: "m1.small",
  vcpus: 2,
  memoryMb: 1024,
  rootGb: 2,
  ephemeralGb: 1,
});
export const REQUEST = "req-ours";
export const NOW = 1_700_000_000_000;
const A_DAY = 86_400_000;
export const ALLOCATIONS = { "node-uuid": { resources: { VCPU: 1 } } };
export const DISKS = { rootDeviceName: "/dev/vda", localDisks: [], volumes: [] };
export const IMAGE = {
  id: "image",
  name: "image",
  diskFormat: "raw",
  containerFormat: "bare",
  minDisk: 0,
  minRam: 0,
  properties: {},
};

/** The stage's instance or migration in a line: its differences from the initial record. */
export const VM = (changes: object = {}) => ({ VM: changes });
export const MOVE = (changes: object = {}) => ({ MOVE: changes });

export interface StageOptions {
  /** Default: an active instance on host `here`. */
  readonly instance?: Partial<Instance> | undefined;
  /** Default: none. */
  readonly migration?: Partial<Migration> | undefined;
  readonly others?: readonly Partial<Migration>[] | undefined;
  readonly quirks?: readonly QuirkName[];
  /** Options of `[DEFAULT]`. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Options of `[workarounds]`. */
  readonly workarounds?: Readonly<Record<string, unknown>>;
  /** Methods of the contract that the driver lacks. */
  readonly lacks?: readonly string[];
  readonly capabilities?: Readonly<Record<string, boolean>>;
}

/** Read-only calls, and the action events of every operation. */
const READ_ONLY_CALLS =
  /^(instance_get|migration_get|.*_by_filters|compute_nodes?_(get_)?by_.*|instance_action_event_.*|instance_in_hand|server_group_on_host|driver\.powerState)$/;

/**
 * Runs one operation on host `here` against recording substitutes for the conductor, other agents, driver, Placement
 * and tracker. Every call succeeds, unless `replies` contains another reply. Expected states of writes are not checked,
 * only recorded in the line.
 */
export class FlowStage {
  readonly lines: Line[] = [];
  /** The steps that have begun, e.g. `finish_resize.begin`; a fault can be set before each by this name. */
  readonly steps: string[] = [];
  readonly replies: Record<string, Reply> = {};
  readonly operations: Operations;
  readonly runtime = createVirtualRuntime({ seed: 7, start: NOW });
  /** Whether this agent has the host's lease. */
  leaseHeld = true;
  /** The sum of all waits, in milliseconds; nothing else takes time. */
  passed = 0;
  readonly tracker: ResourceTracker;
  readonly context: AgentContext;
  /** The records as currently saved. */
  instance: Instance | null;
  migration: Migration | null;
  readonly others: readonly Migration[];
  readonly #first: { readonly instance: Instance; readonly migration: Migration | null };

  constructor(options: StageOptions = {}) {
    const { instance = {}, migration, others = [], quirks = [], config = {}, workarounds = {} } = options;
    const row = { uuid: "vm", host: "here", node: "node", computeId: 1, flavor: OLD, instanceTypeId: OLD.id };
    this.instance = anInstance({ ...row, taskRequestId: REQUEST, powerState: 1, ...instance });
    this.migration = migration ? aMigration({ id: 7, uuid: "move", instanceUuid: "vm", ...migration }) : null;
    this.others = others.map((other) => aMigration({ id: 8, uuid: "other", instanceUuid: "vm", ...other }));
    this.#first = { instance: this.instance, migration: this.migration };
    this.tracker = this.#tracker();
    const conductor = this.#conductor() as HostSession;
    const driver = this.#driver(options) as DriverHost;
    this.context = {
      host: "here",
      config: {
        defaults: {
          maxConcurrentBuilds: 0,
          maxConcurrentLiveMigrations: 1,
          reclaimInstanceInterval: 0,
          shelvedOffloadTime: 0,
          ...config,
        },
        compute: { maxDiskDevicesToAttach: -1 },
        workarounds: { upstreamQuirks: new Set(quirks), ...workarounds },
      },
      runtime: { ...this.runtime, ...this.#time() },
      logger: this.runtime.logger,
      metrics: NO_METRICS,
      conductor,
      driver,
      volumes: new HostVolumes({
        conductor,
        driver,
        service: this.createRecordingProxy("volumes") as VolumeService,
        logger: this.runtime.logger,
      }),
      placement: this.#placement(),
      // No server here has any.
      ports: {
        of: async () => [],
        whileDestinationPlugs: (_instance: unknown, action: () => Promise<unknown>) => action(),
      },
      images: {
        remove: async (id: string) => void this.lines.push(["images.remove", id]),
        removeUnfinished: async (id: string) => void this.lines.push(["images.removeUnfinished", id]),
      },
    } as unknown as AgentContext;
    this.operations = createOperations(this.context, this.tracker, {
      hit: async (point) => void this.steps.push(point.replace("agent.", "")),
    });
  }

  /** Sends the operation its message. */
  run<M extends InstanceMethod>(
    method: M,
    request: Omit<RequestOf<M>, "instanceUuid" | "requestId" | "migrationId"> & { readonly requestId?: string },
  ): Promise<ReplyOf<M>> {
    const ofMove = this.migration ? { migrationId: this.migration.id } : {};
    const message = { instanceUuid: "vm", requestId: REQUEST, ...ofMove, ...request };
    return this.operations.run(method, message as unknown as RequestOf<M>);
  }

  /** Like {@link run}; returns the thrown error, or null. */
  async failure<M extends InstanceMethod>(...message: Parameters<typeof this.run<M>>): Promise<unknown> {
    return this.run(...message).then(
      () => null,
      (error: unknown) => error,
    );
  }

  /** The calls that changed something, in order. */
  get did(): readonly Line[] {
    return this.lines.filter(([call]) => !READ_ONLY_CALLS.test(call));
  }

  /** The names of these calls. */
  get calls(): readonly string[] {
    return this.did.map(([call]) => call);
  }

  /** The arguments of each call with this name. */
  argumentsOf(call: string): readonly (readonly unknown[])[] {
    return this.lines.filter(([name]) => name === call).map(([, ...args]) => args);
  }

  /** The names of the started action events, then the results of the finished ones. */
  get events(): readonly string[] {
    const begun = this.argumentsOf("instance_action_event_start").map(
      ([params]) => (params as { event: string }).event,
    );
    const ended = this.argumentsOf("instance_action_event_finish").map(
      ([params]) => (params as { result: string }).result,
    );
    return [...begun, ...ended];
  }

  /** The messages of the instance's faults. */
  get faults(): readonly unknown[] {
    return this.argumentsOf("instance_add_fault").map(([params]) => (params as { message: string }).message);
  }

  logged(text: string): number {
    return this.runtime.logs.filter(({ message }) => message.includes(text)).length;
  }

  /**
   * Creates an object that records all method calls. A call returns its entry in `replies`, or else the result of
   * `usual`.
   */
  createRecordingProxy(
    name: string,
    own: object = {},
    usual: (method: string, args: readonly unknown[]) => unknown = () => undefined,
  ) {
    return new Proxy(own, {
      get: (target, method) => {
        if (typeof method === "symbol" || method in target || method === "then") {
          return Reflect.get(target, method);
        }
        return (...args: readonly unknown[]) => this.#reply(`${name}.${method}`, args, () => usual(method, args));
      },
    });
  }

  #note(call: string, args: readonly unknown[]): void {
    this.lines.push([call, ...args.map((each) => this.#brief(each))]);
  }

  /** Replaces the stage's records by their differences from the initial ones. */
  #brief(value: unknown): unknown {
    if (typeof value !== "object" || value === null || value instanceof Error) {
      return value;
    }
    if (Array.isArray(value)) {
      return value.map((each) => this.#brief(each));
    }
    const { instance, migration } = this.#first;
    const record = value as Record<string, unknown>;
    if ("vmState" in record && record.uuid === instance.uuid) {
      return { VM: difference(instance, record) };
    }
    if (migration && "migrationType" in record && record.uuid === migration.uuid) {
      return { MOVE: difference(migration, record) };
    }
    if (Object.getPrototypeOf(record) !== Object.prototype) {
      return value;
    }
    return Object.fromEntries(Object.entries(record).map(([name, each]) => [name, this.#brief(each)]));
  }

  async #reply(call: string, args: readonly unknown[], otherwise: () => unknown): Promise<unknown> {
    this.#note(call, args);
    const configured = call in this.replies ? this.replies[call] : undefined;
    const reply: unknown = await (typeof configured === "function" ? configured(...args) : configured);
    if (reply instanceof Error) {
      throw reply;
    }
    return reply === undefined ? otherwise() : reply;
  }

  #time() {
    const sleep = async (milliseconds: number) => {
      this.passed += milliseconds;
      if (this.passed > A_DAY) {
        throw new Error("nothing is waited for as long as that");
      }
    };
    return {
      clock: { now: () => NOW, monotonic: () => this.passed },
      timers: { sleep, after: () => () => {} },
    };
  }

  #conductor(): unknown {
    const written: Record<string, (params: never) => unknown> = {
      instance_get: ({ readDeleted = false }: { readDeleted?: boolean }) =>
        this.instance?.deleted && !readDeleted ? null : this.instance,
      migration_get: ({ id }: { id: number }) =>
        [this.migration, ...this.others].find((each) => each?.id === id) ?? null,
      migrations_by_filters: ({ filters }: { filters: Filters }) =>
        [...(this.migration ? [this.migration] : []), ...this.others].filter((each) => fits(each, filters)),
      instances_by_filters: ({ filters }: { filters: Filters }) =>
        (this.instance ? [this.instance] : []).filter((each) => fits(each, filters)),
      instance_save: ({ changes }: { changes: InstanceChanges }) => this.#save(changes),
      instance_destroy: () => this.#save({ deleted: 1 } as InstanceChanges),
      migration_save: ({ changes }: { changes: MigrationChanges }) => this.#saveMigration(changes),
      save_together: ({ instance, migration }: { instance?: Written; migration?: Written }) => {
        this.#saveMigration(migration?.changes ?? {});
        return this.#save(instance?.changes ?? {});
      },
      compute_node_get_by_host_and_node: () => aComputeNode({ id: 5 }),
      instance_action_event_start: () => 17,
      instance_in_hand: () => false,
    };
    const isLeaseHeld = () => this.leaseHeld;
    return {
      host: "here",
      get leaseHeld() {
        return isLeaseHeld();
      },
      call: (method: string, params: never, ...options: readonly unknown[]) =>
        this.#reply(method, [params, ...options], () => written[method]?.(params) ?? null),
      callAgent: (host: string, method: string, ...args: readonly unknown[]) =>
        this.#reply(`call ${method}`, [host, ...args], () => null),
      castAgent: (host: string, method: string, ...args: readonly unknown[]) =>
        this.#reply(`cast ${method}`, [host, ...args], () => null),
    };
  }

  #driver({ lacks = [], capabilities = {} }: StageOptions): unknown {
    const usual: Record<string, unknown> = {
      powerState: 1,
      migrateDiskAndPowerOff: "disk-info",
      instanceExists: false,
      instanceOnDisk: false,
      checkInstanceSharedStorageLocal: { token: 1 },
    };
    const offers = {
      name: "staged",
      capabilities,
      rebalancesNodes: false,
      supports: (method: string) => !lacks.includes(method),
    };
    return this.createRecordingProxy("driver", offers, (method) => usual[method]);
  }

  #placement(): unknown {
    const usual: Record<string, unknown> = {
      getAllocationsForConsumer: { allocations: ALLOCATIONS },
      deleteAllocation: true,
      moveAllocations: true,
      removeProviderTreeFromInstanceAllocation: true,
    };
    return this.createRecordingProxy("placement", {}, (method) => usual[method]);
  }

  #tracker(): ResourceTracker {
    const written: Record<string, (...args: never[]) => unknown> = {
      saveMove: ({
        changes,
        migrationChanges = {},
      }: {
        changes: InstanceChanges;
        migrationChanges?: MigrationChanges;
      }) => this.#saveBoth(changes, migrationChanges),
      dropMoveClaimAtSource: (_: unknown, changes: InstanceChanges) => this.#saveBoth(changes, { status: "confirmed" }),
      dropMoveClaimAtDestination: (_: unknown, changes: InstanceChanges) =>
        this.#saveBoth(changes, { status: "reverted" }),
      saveInstance: (_: unknown, changes: InstanceChanges) => this.#save(changes),
      instanceClaim: (_: unknown, node: string, ...[, , begun]: readonly { readonly changes?: object }[]) =>
        this.#claim({ host: "here", node, ...begun?.changes }, null),
      rebuildClaim: (_: unknown, node: string) => this.#claim({}, { destNode: node, status: "pre-migrating" }),
      resizeClaim: (_: unknown, node: string) => this.#claim({}, { destNode: node }),
    };
    const nodes = () => new Map([["node", aComputeNode()]]);
    return this.createRecordingProxy("tracker", { nodes }, (method, args) =>
      written[method]?.(...(args as never[])),
    ) as ResourceTracker;
  }

  #claim(changes: InstanceChanges, migration: MigrationChanges | null): unknown {
    return {
      instance: this.#save(changes),
      migration: migration && this.#saveMigration(migration),
      abort: (...args: readonly unknown[]) => this.#reply("claim.abort", args, () => this.instance),
    };
  }

  #save(changes: InstanceChanges): Instance | null {
    this.instance = this.instance && { ...this.instance, ...changes };
    return this.instance;
  }

  #saveMigration(changes: MigrationChanges): Migration | null {
    this.migration = this.migration && { ...this.migration, ...changes };
    return this.migration;
  }

  #saveBoth(instance: InstanceChanges, migration: MigrationChanges) {
    return { instance: this.#save(instance), migration: this.#saveMigration(migration) };
  }
}

type Written = { readonly changes: object };
type Filters = Readonly<Record<string, unknown>>;

/** The column of each filter; other filters are ignored. */
const COLUMNS: Readonly<Record<string, string>> = {
  statuses: "status",
  migrationTypes: "migrationType",
  taskStates: "taskState",
  uuids: "uuid",
};

function fits(record: object, filters: Filters): boolean {
  const columns = record as Record<string, unknown>;
  return Object.entries(filters).every(([name, expected]) => {
    const column = COLUMNS[name] ?? name;
    const value = columns[column];
    return (
      !(column in columns) ||
      typeof expected === "boolean" ||
      (Array.isArray(expected) ? expected.includes(value) : expected === value)
    );
  });
}

function difference(first: object, now: Record<string, unknown>): Record<string, unknown> {
  const before = first as Record<string, unknown>;
  return Object.fromEntries(Object.entries(now).filter(([field, value]) => before[field] !== value));
}
