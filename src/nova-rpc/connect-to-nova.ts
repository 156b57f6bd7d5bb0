import {
  type ConductorConnection,
  type ConnectionState,
  type KillableSession,
  type MessageObserver,
  NO_OBSERVER,
} from "../conductor-client/port.js";
import type { BrokerOptions, MessageBroker } from "../runtime/message-broker.js";
import type { Runtime } from "../runtime/runtime.js";
import { KnownRows } from "./conductor-calls/known-rows.js";
import { NovaConductor } from "./conductor-calls/nova-conductor.js";
import { HostLease } from "./host-lease.js";
import { MessageScopes } from "./messages/message-scope.js";
import { Rpc } from "./messages/rpc.js";
import { type NovaConnectionParts, NovaSession } from "./nova-session.js";
import type { ReleaseProfile } from "./objects/profile.js";
import { type RabbitOptions, Topology } from "./transport/topology.js";
import { withoutPasswords } from "./transport/transport-url.js";

export interface NovaConnectOptions {
  readonly address: BrokerOptions["address"];
  /** `[oslo_messaging_rabbit]` */
  readonly rabbit: RabbitOptions;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "processes" | "logger">;
  readonly connectToBroker: (options: BrokerOptions) => MessageBroker;
  /** For read-only callers: leaves nothing in the broker. Default false. */
  readonly lookOnly?: boolean;
  /** Builds servers without their requested networks. Default: such servers are not built. */
  readonly ignoreNetworks?: boolean;
  /** Default: messages are not counted. */
  readonly observer?: MessageObserver;
}

/**
 * Maximum pause between connection attempts in milliseconds, whatever `rabbit_interval_max` allows. The library doubles its
 * pauses, while nova-compute's grow by two seconds; a host would be away for much longer than its broker.
 */
const MAX_RECONNECT_PAUSE_MS = 5_000;

/** Connects to Nova's broker and conductor, and reconnects until it is closed. Returns at once; see `connected()`. */
export function connectToNova(options: NovaConnectOptions): NovaConnection {
  return new NovaConnection(options);
}

/** A connection to a real Nova. */
export class NovaConnection implements ConductorConnection {
  readonly #parts: NovaConnectionParts;
  readonly #options: NovaConnectOptions;
  readonly #sessions = new Set<NovaSession>();
  readonly #listeners: ((state: ConnectionState, detail: string) => void)[] = [];
  readonly #stop = new AbortController();
  readonly #met: Promise<void>;
  #state: ConnectionState = "connecting";

  constructor(options: NovaConnectOptions) {
    const {
      runtime,
      rabbit,
      address,
      connectToBroker,
      lookOnly = false,
      observer = NO_OBSERVER,
      ignoreNetworks = false,
    } = options;
    this.#options = options;
    const broker = connectToBroker({
      address,
      connectionName: `nova-compute:${runtime.processes.pid}:${runtime.random.uuid()}`,
      heartbeat: rabbit.heartbeatTimeoutThreshold,
      retry: {
        first: rabbit.rabbitRetryInterval * 1000,
        most: Math.max(
          rabbit.rabbitRetryInterval * 1000,
          Math.min(rabbit.rabbitIntervalMax * 1000, MAX_RECONNECT_PAUSE_MS),
        ),
      },
    });
    const topology = new Topology(rabbit);
    const scopes = new MessageScopes();
    const rpc: Rpc = new Rpc({ broker, topology, runtime, profile: () => nova.profile, lookOnly, observer });
    const nova: NovaConductor = new NovaConductor({ rpc, scopes, runtime });
    const ready = () => this.connected();
    this.#parts = {
      broker,
      topology,
      rpc,
      nova,
      rows: new KnownRows(() => runtime.clock.monotonic()),
      scopes,
      runtime,
      ready,
      observer,
      ignoreNetworks,
    };
    broker.onState((state, detail) => {
      // "connected" is reported only after a conductor has responded.
      if (state === "waiting" || state === "closed") {
        this.#enter(state, `RabbitMQ at ${withoutPasswords(address)}: ${detail}`);
      } else if (state === "connected" && this.#state === "waiting" && nova.isMet) {
        this.#enter("connected", withoutPasswords(address));
      }
    });
    this.#met = this.#meet();
    this.#met.catch(() => {});
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get serviceVersion(): number {
    return this.profile.serviceVersion;
  }

  /** The release of the control plane, known after {@link connected}. */
  get profile(): ReleaseProfile {
    return this.#parts.nova.profile;
  }

  onState(listener: (state: ConnectionState, detail: string) => void): void {
    this.#listeners.push(listener);
  }

  connected(): Promise<void> {
    return this.#met;
  }

  host(name: string, { lease = true }: { readonly lease?: boolean } = {}): KillableSession {
    const { broker, topology, runtime } = this.#parts;
    const heartbeatTimeoutMs = this.#options.rabbit.heartbeatTimeoutThreshold * 1000;
    const session = new NovaSession(
      name,
      this.#parts,
      lease ? new HostLease({ host: name, broker, topology, runtime, heartbeatTimeoutMs }) : null,
    );
    this.#sessions.add(session);
    return session;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all([...this.#sessions].map((session) => session.close()));
    await this.#parts.broker.close();
    this.#parts.scopes.close();
    this.#enter("closed", "closed by this agent");
  }

  async #meet(): Promise<void> {
    const { rpc, nova } = this.#parts;
    await rpc.start();
    await nova.meet((reason) => this.#enter("waiting", reason), this.#stop.signal);
    this.#enter("connected", withoutPasswords(this.#options.address));
  }

  #enter(state: ConnectionState, detail: string): void {
    if (this.#state === "closed") {
      return;
    }
    this.#state = state;
    for (const listener of this.#listeners) {
      listener(state, detail);
    }
  }
}
