import { ConductorError } from "../conductor-client/errors.js";
import type { AgentMethod, AgentMethods } from "../conductor-client/methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "../conductor-client/methods/conductor.js";
import type { ParamsOf, ResultOf } from "../conductor-client/methods/method.js";
import type { AgentHandlers, CallOptions, KillableSession, MessageObserver } from "../conductor-client/port.js";
import { FINAL_MIGRATION_STATUSES, MIGRATION_STATUSES, type MigrationStatus } from "../records/index.js";
import { Lifetime } from "../runtime/lifetime.js";
import {
  BrokerRejectedError,
  type Consumer,
  type ConsumerEvents,
  type MessageBroker,
} from "../runtime/message-broker.js";
import type { Runtime } from "../runtime/runtime.js";
import { ComputeServer } from "./compute-server/compute-server.js";
import { ACTION_CALLS } from "./conductor-calls/actions.js";
import { peerMessage, peerResult } from "./conductor-calls/compute-messages.js";
import { COMPUTE_NODE_CALLS } from "./conductor-calls/compute-nodes.js";
import { INSTANCE_CALLS } from "./conductor-calls/instances.js";
import type { KnownRows } from "./conductor-calls/known-rows.js";
import { MIGRATION_CALLS } from "./conductor-calls/migrations.js";
import type { AskOptions, CallTools, ConductorCalls, NovaConductor } from "./conductor-calls/nova-conductor.js";
import { SERVER_GROUP_CALLS } from "./conductor-calls/server-groups.js";
import { SERVICE_CALLS, USAGE_AUDIT_CALLS } from "./conductor-calls/services.js";
import { computeMessage, LONG_CALL, WORK_CALLS } from "./conductor-calls/work.js";
import type { HostLease } from "./host-lease.js";
import type { MessageScopes } from "./messages/message-scope.js";
import type { OsloRequest } from "./messages/oslo-message.js";
import type { Rpc } from "./messages/rpc.js";
import { writeDiagnostics, writeLiveMigrateData } from "./objects/compute-rpc-objects.js";
import { objectOf, overlaid } from "./objects/primitive.js";
import { ALTERNATE_TOPIC, COMPUTE_TOPIC, hasAlternateTopic, hostQueue, type Topology } from "./transport/topology.js";

/** All methods of the port. */
const CONDUCTOR_CALLS: ConductorCalls = {
  ...SERVICE_CALLS,
  ...COMPUTE_NODE_CALLS,
  ...INSTANCE_CALLS,
  ...SERVER_GROUP_CALLS,
  ...ACTION_CALLS,
  ...MIGRATION_CALLS,
  ...USAGE_AUDIT_CALLS,
  ...WORK_CALLS,
};

const OPEN_STATUSES = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));

/** A source may report its end while its message to undo the migration is still on the way. */
const UNDONE_STATUSES = [...OPEN_STATUSES, ...FINAL_MIGRATION_STATUSES.filter((status) => status !== "completed")];

/** Components that the hosts of a connection share. */
export interface NovaConnectionParts {
  readonly broker: MessageBroker;
  readonly topology: Topology;
  readonly rpc: Rpc;
  readonly nova: NovaConductor;
  readonly rows: KnownRows;
  readonly scopes: MessageScopes;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  readonly observer: MessageObserver;
  readonly ignoreNetworks: boolean;
  /** Resolves when a conductor has responded. */
  readonly ready: () => Promise<void>;
}

/** The consumers of one topic. */
interface TopicConsumers {
  /** Consumes the host's own queue, exclusively. */
  readonly own: Consumer;
  /** Consume the queue shared by all hosts, and the host's fanout queue. */
  readonly shared: readonly Consumer[];
}

/** The session of one host with a real Nova; see {@link KillableSession}. */
export class NovaSession implements KillableSession {
  readonly host: string;
  /** Nova's broker has no epochs. */
  readonly leaseEpoch = null;
  readonly #parts: NovaConnectionParts;
  readonly #lease: HostLease | null;
  /** Consumers by topic; empty if the host is not served. */
  #consumers: ReadonlyMap<string, TopicConsumers> = new Map();
  readonly #lifetime = new Lifetime();
  #lost = false;
  #closed = false;

  /** @param lease null if no lease is needed */
  constructor(host: string, parts: NovaConnectionParts, lease: HostLease | null) {
    this.host = host;
    this.#parts = parts;
    this.#lease = lease;
    void lease?.lost.then(() => {
      this.#lost = true;
      return this.stopServing();
    });
  }

  get leaseHeld(): boolean {
    const owns = [...this.#consumers.values()].every(({ own }) => own.active);
    return this.#lifetime.alive && (this.#lease === null || (this.#lease.held && owns));
  }

  async leaseSettled(): Promise<void> {
    while (this.#lease !== null && !this.leaseHeld && !this.#lost && !this.#closed) {
      await this.#lease.change();
    }
  }

  get leaseLost(): Promise<string> {
    return this.#lease?.lost ?? new Promise(() => {});
  }

  async acquireLease(): Promise<void> {
    await this.#parts.ready();
    await this.#lease?.acquire();
  }

  async call<M extends ConductorMethod>(
    method: M,
    params: ParamsOf<ConductorMethods, M>,
    options: CallOptions = {},
  ): Promise<ResultOf<ConductorMethods, M>> {
    // A call that waits for the connection must not be sent after its agent was killed.
    return this.#lifetime.bounded(options.signal, async (signal) => {
      await this.#parts.ready();
      signal.throwIfAborted();
      return CONDUCTOR_CALLS[method](params, this.#tools({ ...options, signal }));
    });
  }

  async callAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<ResultOf<AgentMethods, M>> {
    return this.#lifetime.bounded(options.signal, async (signal) => {
      const tools = this.#tools({ ...options, signal });
      const { args, long = false } = await peerMessage(method, params, tools);
      const limits = long ? LONG_CALL : {};
      const result = await this.#parts.rpc.call(await computeMessage(host, method, args, tools), {
        ...limits,
        ...(options.timeout === undefined || long ? {} : { timeout: options.timeout }),
        signal,
      });
      if (method === "post_live_migration_at_destination") {
        this.#noteHandedOver(host, params as ParamsOf<AgentMethods, "post_live_migration_at_destination">);
      }
      return peerResult(method, result) as ResultOf<AgentMethods, M>;
    });
  }

  async castAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<void> {
    return this.#lifetime.whileAlive(async () => {
      const tools = this.#tools(options);
      const { args } = await peerMessage(method, params, tools);
      await this.#parts.rpc.cast(await computeMessage(host, method, args, tools));
    });
  }

  serve(handlers: Partial<AgentHandlers>): Promise<void> {
    return this.#serve(handlers, { isDraining: false });
  }

  /** @param options `isDraining`: requests without a handler stay in the queue for the next process of the host */
  async #serve(handlers: Partial<AgentHandlers>, { isDraining }: { readonly isDraining: boolean }): Promise<void> {
    const { rpc, scopes, runtime, nova, observer, ignoreNetworks } = this.#parts;
    await this.stopServing();
    const server = new ComputeServer({
      host: this.host,
      rpc,
      scopes,
      runtime,
      observer,
      profile: () => nova.profile,
      handlers,
      records: {
        ignoreNetworks,
        blockDevices: (uuid) => nova.ask("BlockDeviceMappingList", "get_by_instance_uuid", [uuid], {}),
        endTask: async (uuid) => {
          await this.call("instance_save", { uuid, changes: { taskState: null } });
        },
        liveMigration: (instanceUuid) => this.#liveMigration(instanceUuid, OPEN_STATUSES),
        undoneLiveMigration: (instanceUuid) => this.#liveMigration(instanceUuid, UNDONE_STATUSES),
        setDestination: (id, destNode) => this.#setDestination(id, destNode),
        hostChanges: () => this.#parts.rows.doubtService(this.host),
        failShare: async (mapping) => {
          const failed = overlaid(objectOf(mapping, "ShareMapping"), { status: "error" });
          await nova.act({ ...failed, "nova_object.changes": ["status"] }, "save");
        },
      },
      result: (method, value, request) => this.#resultFor(method, value, request),
    });
    // Nova stops a nova-compute's topics in this order, and starts them in the same order.
    for (const topic of hasAlternateTopic(nova.profile) ? [COMPUTE_TOPIC, ALTERNATE_TOPIC] : [COMPUTE_TOPIC]) {
      await this.#consume(topic, {
        message: (body) => server.take(body),
        ...(isDraining ? { takes: (body) => server.takes(body) } : {}),
      });
    }
  }

  async stopServing(): Promise<void> {
    const topics = [...this.#consumers.keys()];
    await Promise.all(topics.map((topic) => this.#stopConsuming(topic)));
  }

  async drain(handlers: Partial<AgentHandlers> | null): Promise<void> {
    if (this.#consumers.has(ALTERNATE_TOPIC)) {
      await this.#stopConsuming(COMPUTE_TOPIC);
    } else if (handlers === null) {
      await this.stopServing();
    } else {
      await this.#serve(handlers, { isDraining: true });
    }
  }

  async #consume(topic: string, events: ConsumerEvents): Promise<void> {
    const { broker, topology, runtime } = this.#parts;
    const queue = hostQueue(topic, this.host);
    try {
      const own = await broker.consume(topology.server(queue, { exclusive: this.#lease !== null }), {
        ...events,
        rejected: (error) => this.#lease?.rejected(error),
        active: () => this.#lease?.returned(),
      });
      this.#consumers = new Map([...this.#consumers, [topic, { own, shared: [] }]]);
    } catch (error) {
      throw error instanceof BrokerRejectedError && error.code === "ACCESS_REFUSED"
        ? new ConductorError("HostLeaseHeld", `queue ${queue} is read by another nova-compute: ${error.message}`, {
            host: this.host,
          })
        : error;
    }
    const subscriptions = [
      topology.server(topic, { exclusive: false }),
      topology.fanoutServer(topic, runtime.random.uuid().replaceAll("-", "")),
    ];
    for (const subscription of subscriptions) {
      const consumer = await broker.consume(subscription, events);
      const { own, shared } = this.#consumers.get(topic) ?? {};
      if (own === undefined || shared === undefined) {
        // The lease was lost, or the host stopped.
        await consumer.close();
        return;
      }
      this.#consumers = new Map([...this.#consumers, [topic, { own, shared: [...shared, consumer] }]]);
    }
  }

  async #stopConsuming(topic: string): Promise<void> {
    const stopped = this.#consumers.get(topic);
    this.#consumers = new Map([...this.#consumers].filter(([name]) => name !== topic));
    await Promise.all(
      stopped === undefined ? [] : [stopped.own, ...stopped.shared].map((consumer) => consumer.close()),
    );
  }

  async close(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    await this.stopServing();
    await this.#lease?.release();
  }

  async kill(): Promise<void> {
    if (!this.#lifetime.alive) {
      return;
    }
    this.#lifetime.kill();
    // The broker would do the same when the connection ends.
    await this.close();
  }

  #tools({ requestId, timeout, signal }: CallOptions): CallTools {
    const { nova, rpc, rows, scopes, runtime } = this.#parts;
    const limits: AskOptions["limits"] = {
      ...(timeout === undefined ? {} : { timeout }),
      ...(signal === undefined ? {} : { signal }),
    };
    const options: AskOptions = { limits, ...(requestId === undefined ? {} : { requestId }) };
    return { nova, rpc, rows, scopes, host: this.host, now: () => runtime.clock.monotonic(), options };
  }

  /** Notes that the live migration's destination has taken over the instance, so that the owner need not be read. */
  #noteHandedOver(
    host: string,
    { instanceUuid, migrationId }: ParamsOf<AgentMethods, "post_live_migration_at_destination">,
  ): void {
    const rows = this.#parts.scopes.current?.rows;
    const instance = rows?.latest("Instance", instanceUuid);
    const migration = rows?.latest("Migration", migrationId);
    if (rows !== undefined && instance !== undefined && migration !== undefined) {
      const taken = { host, node: migration["nova_object.data"].dest_node ?? null, task_state: null };
      rows.note({ ...overlaid(instance, taken), "nova_object.changes": [] });
      rows.offer("Instance", instanceUuid);
    }
  }

  /** Returns the newest live migration with one of these statuses, also of a deleted instance. */
  async #liveMigration(instanceUuid: string, statuses: readonly MigrationStatus[]): Promise<number | null> {
    const found = await this.call("migrations_by_filters", {
      filters: { instanceUuid, migrationTypes: ["live-migration"], host: this.host, readDeleted: true },
    });
    const [newest] = found.sort((one, other) => other.id - one.id);
    if (newest === undefined || !statuses.includes(newest.status)) {
      return null;
    }
    this.#parts.scopes.current?.rows.offer("Migration", newest.id);
    return newest.id;
  }

  /** Saves all fields that the later claim on the node would save, which then needs no save of its own. */
  async #setDestination(id: number, destNode: string): Promise<void> {
    const { rows, scopes } = this.#parts;
    const node = rows.node(this.host, destNode);
    const known = node === undefined ? {} : { destComputeId: node.id, destHost: node.hostIp };
    await this.call("migration_save", { id, changes: { destCompute: this.host, destNode, ...known } });
    scopes.current?.rows.offer("Migration", id);
  }

  #resultFor(method: AgentMethod, value: unknown, { args }: OsloRequest): unknown {
    switch (method) {
      case "check_can_live_migrate_destination":
        return writeLiveMigrateData(value as never, null, this.#parts.nova.profile);
      case "check_can_live_migrate_source":
        return writeLiveMigrateData(value as never, args.dest_check_data, this.#parts.nova.profile, { bySource: true });
      case "pre_live_migration":
        return writeLiveMigrateData(value as never, args.migrate_data, this.#parts.nova.profile);
      case "get_instance_diagnostics":
        return writeDiagnostics(value as never);
      default:
        return value ?? null;
    }
  }
}
