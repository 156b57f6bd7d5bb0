import { HostLeaseHeld } from "../conductor/errors.js";
import type { MessageObserver } from "../conductor/message-observer.js";
import type { AgentMethod, AgentMethods } from "../conductor/methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "../conductor/methods/conductor.js";
import type { ParamsOf, ResultOf } from "../conductor/methods/method.js";
import type { AgentHandlers, CallOptions, HostSession } from "../conductor/port.js";
import { FINAL_MIGRATION_STATUSES, MIGRATION_STATUSES, type MigrationStatus } from "../records/index.js";
import { type Consumer, type MessageBroker, RefusedByBroker } from "../runtime/message-broker.js";
import type { Runtime } from "../runtime/runtime.js";
import { peerMessage, peerResult } from "./compute-client/peer-messages.js";
import { ComputeServer } from "./compute-server/compute-server.js";
import type { CallTools } from "./conductor-calls/calls.js";
import type { KnownRows } from "./conductor-calls/known-rows.js";
import type { AskOptions, NovaConductor } from "./conductor-calls/nova-conductor.js";
import { CONDUCTOR_CALLS } from "./conductor-calls/table.js";
import { computeMessage, LONG_CALL } from "./conductor-calls/work.js";
import type { HostLease } from "./host-lease.js";
import type { MessageScopes } from "./messages/message-scope.js";
import type { OsloRequest } from "./messages/oslo-message.js";
import type { Rpc } from "./messages/rpc.js";
import { writeLiveMigrateData } from "./objects/live-migrate-data.js";
import type { Topology } from "./transport/topology.js";

const OPEN_STATUSES = MIGRATION_STATUSES.filter((status) => !FINAL_MIGRATION_STATUSES.includes(status));
/** A source says how it has ended while its message to undo it is still on the way. */
const UNDONE_STATUSES = [...OPEN_STATUSES, ...FINAL_MIGRATION_STATUSES.filter((status) => status !== "completed")];

/** What the hosts of a connection share. */
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
  /** Resolves when a conductor was met. */
  readonly ready: () => Promise<void>;
}

/** One host of a real Nova; see {@link HostSession}. */
export class NovaSession implements HostSession {
  readonly host: string;
  /** Nova's brokers count no holders. */
  readonly leaseEpoch = null;
  readonly #parts: NovaConnectionParts;
  readonly #lease: HostLease | null;
  #consumers: readonly Consumer[] = [];
  #closed = false;

  /** @param lease null: none is asked for, and none needed */
  constructor(host: string, parts: NovaConnectionParts, lease: HostLease | null) {
    this.host = host;
    this.#parts = parts;
    this.#lease = lease;
    void lease?.lost.then(() => this.stopServing());
  }

  get leaseHeld(): boolean {
    return this.#lease === null || (this.#lease.held && this.#consumers.every(({ active }) => active));
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
    await this.#parts.ready();
    return CONDUCTOR_CALLS[method](params, this.#tools(options));
  }

  async callAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<ResultOf<AgentMethods, M>> {
    const tools = this.#tools(options);
    const { args, long = false } = await peerMessage(method, params, tools);
    const limits = long ? LONG_CALL : {};
    const result = await this.#parts.rpc.call(computeMessage(host, method, args, tools), {
      ...limits,
      ...(options.timeout === undefined || long ? {} : { timeout: options.timeout }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    return peerResult(method, result) as ResultOf<AgentMethods, M>;
  }

  async castAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<void> {
    const tools = this.#tools(options);
    const { args } = await peerMessage(method, params, tools);
    await this.#parts.rpc.cast(computeMessage(host, method, args, tools));
  }

  async serve(handlers: Partial<AgentHandlers>): Promise<void> {
    const { broker, topology, rpc, scopes, runtime, nova, observer, ignoreNetworks } = this.#parts;
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
        endTask: async (uuid) => {
          await this.call("instance_save", { uuid, changes: { taskState: null } });
        },
        liveMigration: (instanceUuid) => this.#liveMigration(instanceUuid, OPEN_STATUSES),
        undoneLiveMigration: (instanceUuid) => this.#liveMigration(instanceUuid, UNDONE_STATUSES),
        setDestination: async (id, destNode) => {
          await this.call("migration_save", { id, changes: { destCompute: this.host, destNode } });
        },
      },
      result: (method, value, request) => this.#resultFor(method, value, request),
    });
    const message = (body: string) => server.take(body);
    const own = topology.server(`compute.${this.host}`, { exclusive: this.#lease !== null });
    try {
      const consumer = await broker.consume(own, {
        message,
        refused: (error) => this.#lease?.refused(error),
        active: () => this.#lease?.returned(),
      });
      this.#consumers = [consumer];
    } catch (error) {
      throw error instanceof RefusedByBroker && error.code === "ACCESS_REFUSED"
        ? new HostLeaseHeld(`queue compute.${this.host} is read by another nova-compute: ${error.message}`, {
            host: this.host,
          })
        : error;
    }
    const shared = [
      topology.server("compute", { exclusive: false }),
      topology.fanoutServer("compute", runtime.random.uuid().replaceAll("-", "")),
    ];
    const others = await Promise.all(shared.map((subscription) => broker.consume(subscription, { message })));
    this.#consumers = [...this.#consumers, ...others];
  }

  async stopServing(): Promise<void> {
    const consumers = this.#consumers;
    this.#consumers = [];
    await Promise.all(consumers.map((consumer) => consumer.close()));
  }

  async close(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    await this.stopServing();
    await this.#lease?.release();
  }

  #tools({ requestId, timeout, signal }: CallOptions): CallTools {
    const { nova, rpc, rows, scopes } = this.#parts;
    const limits: AskOptions["limits"] = {
      ...(timeout === undefined ? {} : { timeout }),
      ...(signal === undefined ? {} : { signal }),
    };
    const options: AskOptions = { limits, ...(requestId === undefined ? {} : { requestId }) };
    return { nova, rpc, rows, scopes, host: this.host, options };
  }

  /** The newest one; that of a deleted instance, too. */
  async #liveMigration(instanceUuid: string, statuses: readonly MigrationStatus[]): Promise<number | null> {
    const found = await this.call("migrations_by_filters", {
      filters: { instanceUuid, migrationTypes: ["live-migration"], host: this.host, readDeleted: true },
    });
    const [newest] = found.sort((one, other) => other.id - one.id);
    return newest !== undefined && statuses.includes(newest.status) ? newest.id : null;
  }

  #resultFor(method: AgentMethod, value: unknown, { args }: OsloRequest): unknown {
    switch (method) {
      case "check_can_live_migrate_destination":
        return writeLiveMigrateData(value as never, null, this.#parts.nova.profile);
      case "check_can_live_migrate_source":
        return writeLiveMigrateData(value as never, args.dest_check_data, this.#parts.nova.profile);
      case "pre_live_migration":
        return writeLiveMigrateData(value as never, args.migrate_data, this.#parts.nova.profile);
      default:
        return value ?? null;
    }
  }
}
