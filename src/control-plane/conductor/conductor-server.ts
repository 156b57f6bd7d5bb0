import { ConductorError } from "../../conductor-client/errors.js";
import { CONDUCTOR_PATH, type Outcome } from "../../conductor-client/wire.js";
import { equalInConstantTime } from "../../runtime/cryptography.js";
import type { SocketAcceptor } from "../../runtime/http-server.js";
import type { Runtime } from "../../runtime/runtime.js";
import type { Socket } from "../../runtime/sockets.js";
import type { CancelTimer } from "../../runtime/time.js";
import { EventLoopTicks } from "../event-loop.js";
import type { Impersonations } from "../identity/tokens/impersonation.js";
import type { RequestRecorder } from "../request-log/request-recorder.js";
import type { Store } from "../store/store.js";
import { type AgentBus, AgentMessages } from "./agent-messages.js";
import { Batch } from "./batch.js";
import { Dispatcher } from "./dispatcher.js";
import { GuestWatch, HostControls, type HostSupervisor } from "./host-controls.js";
import { type HolderListener, HostLeases } from "./host-leases.js";
import { type HostAgent, hostMethods, hostsToReport, listAgents } from "./methods/host-methods.js";
import { clusterMethods, operatorMethods } from "./methods/operator-methods.js";
import { recordMethods } from "./methods/record-methods.js";
import { sessionMethods } from "./methods/session-methods.js";
import { type WorkContext, workMethods } from "./methods/work-methods.js";
import { notifyMoveEnd, Outbox } from "./outbox.js";
import { type AgentIdentity, type Message, readFrame, Session, type SessionLimits } from "./session.js";

export interface ConductorOptions {
  readonly store: Store;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "logger">;
  /** The token that agents send as `authorization: Bearer <token>`. */
  readonly joinToken: string;
  /** Returns a Placement endpoint and token for agents without a `[placement]` section. */
  readonly ports: WorkContext["ports"];
  readonly placementAccess: WorkContext["placementAccess"];
  /** Returns the Image service's endpoint and token; absent without an Image service. */
  readonly imageAccess?: NonNullable<WorkContext["imageAccess"]>;
  /** Returns the endpoint of Block Storage and a token; absent without Block Storage. */
  readonly volumeAccess?: NonNullable<WorkContext["volumeAccess"]>;
  /** Called when an agent acquires or loses a host's lease. */
  readonly onHolder?: HolderListener;
  /** Starts and stops agent processes; absent if this process supervises none. */
  readonly supervisor?: HostSupervisor;
  /** Records requests for `compute-agent record`. */
  readonly recorder?: RequestRecorder;
  /** Creates tokens for users of another cluster, for replays. */
  readonly impersonations?: Impersonations;
  /** `service_down_time` in milliseconds. Default 60,000. */
  readonly serviceDownTime?: number;
  /** Milliseconds after which a silent or disconnected holder loses its lease. Default 10,000. */
  readonly leaseTtl?: number;
  readonly limits?: Partial<SessionLimits>;
}

const DEFAULT_LEASE_TTL = 10_000;
const DEFAULT_DOWN_TIME_MS = 60_000;
const DEFAULT_LIMITS: SessionLimits = { bufferedBytes: 32 * 1024 * 1024, callsUnderWay: 1_000 };
/** Milliseconds after which stored replies to agents that never reconnected are deleted. */
const REPLY_RETENTION_MS = 24 * 3_600_000;

/** The server side of the conductor, without the listening socket. */
export class ConductorServer {
  readonly bus: AgentBus;
  /** Instances by host as agents last reported them, for the scheduler. */
  readonly instanceInfo = new Map<string, ReadonlySet<string>>();
  /** Lists the agents of known processes with their states. */
  readonly agents: () => Promise<readonly HostAgent[]>;
  /** Returns the hosts that serve and become ready with a heartbeat. */
  readonly hostsToReport: () => string[];
  /** Starts, stops and kills hosts through the connections of their processes. */
  readonly controls: HostControls;
  /** Subscriptions to guest changes that agents report. */
  readonly guests: GuestWatch;
  readonly #options: ConductorOptions;
  readonly #ttl: number;
  readonly #limits: SessionLimits;
  readonly #leases: HostLeases;
  readonly #outbox: Outbox;
  readonly #dispatcher: Dispatcher;
  readonly #sessions = new Set<Session>();
  readonly #unsubscribe: () => void;
  #cancelWatch: CancelTimer | undefined;
  #stopped = false;

  constructor(options: ConductorOptions) {
    const {
      store,
      runtime,
      ports,
      leaseTtl = DEFAULT_LEASE_TTL,
      limits,
      placementAccess,
      imageAccess,
      volumeAccess,
    } = options;
    const { supervisor, recorder, impersonations, serviceDownTime = DEFAULT_DOWN_TIME_MS } = options;
    this.#options = options;
    this.#ttl = leaseTtl;
    this.#limits = { ...DEFAULT_LIMITS, ...limits };
    const leases = new HostLeases(store, runtime.clock, leaseTtl, options.onHolder);
    const outbox = new Outbox(store, runtime.logger);
    const guests = new GuestWatch(this.#sessions);
    const controls = new HostControls((host) => leases.describe(host) === null);
    const messages = new AgentMessages(store, outbox, leases);
    const toReport = () => hostsToReport({ store, leases, outbox, clock: runtime.clock, serviceDownTime });
    const context = {
      store,
      leases,
      ports,
      outbox,
      guests,
      controls,
      messages,
      bus: messages,
      toReport,
      supervisor,
      recorder,
      impersonations,
      placementAccess,
      imageAccess,
      volumeAccess,
      leaseTtl,
      instanceInfo: this.instanceInfo,
      introduced: (session: Session, identity: AgentIdentity) => this.#introduced(session, identity),
    };
    this.#leases = leases;
    this.#outbox = outbox;
    this.guests = guests;
    this.controls = controls;
    this.bus = messages;
    this.hostsToReport = toReport;
    this.agents = () => listAgents(context);
    this.#dispatcher = new Dispatcher({
      store,
      leases,
      random: runtime.random,
      logger: runtime.logger,
      methods: {
        ...recordMethods(store),
        ...operatorMethods(store, runtime.clock, ports),
        ...hostMethods(context),
        ...clusterMethods(context),
        ...workMethods(context),
        ...sessionMethods(context),
      },
    });
    this.#forgetOldReplies();
    this.#unsubscribe = store.onChange(({ kind, id }) => {
      if (kind === "message") {
        outbox.deliver(String(id));
      } else if (kind === "migration") {
        notifyMoveEnd({ store, outbox, logger: runtime.logger }, Number(id));
      }
    });
  }

  /** Socket handlers for `Servers.listen`. */
  get sockets(): Readonly<Record<string, SocketAcceptor>> {
    return { [CONDUCTOR_PATH]: (socket, upgrade) => this.#accept(socket, upgrade) };
  }

  /** Number of open connections. */
  get connections(): number {
    return this.#sessions.size;
  }

  /** Rejects new connections and closes the open ones; agents reconnect on their own. */
  stop(): void {
    this.#stopped = true;
    this.#unsubscribe();
    this.#cancelWatch?.();
    for (const session of this.#sessions) {
      session.close(1001, "the conductor is stopping; reconnect later");
      this.#ended(session);
    }
  }

  #accept(socket: Socket, { headers: { authorization }, origin }: Parameters<SocketAcceptor>[1]): string | undefined {
    if (this.#stopped) {
      return "the conductor is stopping";
    }
    const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
    if (token === undefined || !equalInConstantTime(token, this.#options.joinToken)) {
      return "the join token is missing or wrong: expected `authorization: Bearer <token>` with this cluster's token";
    }
    const { clock, timers } = this.#options.runtime;
    const session = new Session(socket, { clock, timers, limits: this.#limits }, origin);
    this.#sessions.add(session);
    socket.onMessage((text) => this.#guarded(session, () => this.#take(session, text)));
    socket.onClose(() => this.#ended(session));
    this.#watch();
    return undefined;
  }

  #take(session: Session, text: string): void {
    if (session.closed) {
      return;
    }
    session.recordFrame();
    const message = readFrame(text);
    if (Array.isArray(message)) {
      this.#takeBatch(session, message).catch((error: unknown) => this.#failed(session, error));
      return;
    }
    const response = this.#handle(session, message as Message);
    if (response instanceof Promise) {
      response.then((settled) => send(session, settled)).catch((error: unknown) => this.#failed(session, error));
    } else {
      send(session, response);
    }
  }

  /** Responds to a batch in one frame, as JSON-RPC requires. Other connections are served between its messages. */
  async #takeBatch(session: Session, messages: readonly Message[]): Promise<void> {
    const ticks = new EventLoopTicks(this.#options.runtime);
    const batch = new Batch(this.#options.store, messages, (message) => this.#handle(session, message));
    while (!batch.done) {
      if (session.closed) {
        return;
      }
      batch.goOn(ticks);
      if (ticks.due) {
        await ticks.give();
      }
    }
    const responses = (await Promise.all(batch.responses)).filter((response) => response !== undefined);
    if (responses.length > 0) {
      session.send(responses);
    }
  }

  #handle(session: Session, message: Message): ReturnType<Dispatcher["dispatch"]> {
    switch (message.kind) {
      case "request":
        return this.#dispatcher.dispatch(session, message.request);
      case "response":
        session.handleResponse(message.response);
        return undefined;
      case "refused":
        return message.response;
    }
  }

  #introduced(session: Session, identity: AgentIdentity): void {
    if (session.identity && session.identity.bootId !== identity.bootId) {
      throw new ConductorError(
        "ConductorError",
        "this connection belongs to another boot; open one connection for each boot",
      );
    }
    this.#forgetOldReplies();
    for (const other of this.#sessions) {
      if (other !== session && other.identity?.bootId === identity.bootId) {
        other.terminate();
        this.#ended(other);
      }
    }
    session.introduce(identity);
    this.guests.introduced(session);
    this.#options.runtime.logger.debug("an agent process connected", { pid: identity.pid, version: identity.version });
  }

  #forgetOldReplies(): void {
    const { store, runtime } = this.#options;
    store.messages.forgetRepliesBefore(runtime.clock.now() - REPLY_RETENTION_MS);
  }

  #ended(session: Session): void {
    if (!this.#sessions.delete(session)) {
      return;
    }
    session.ended();
    this.controls.sessionEnded(session);
    this.#outbox.sessionEnded(session);
    try {
      this.#leases.sessionEnded(session);
    } catch (error) {
      // The leases have ended in memory. Their rows only record when the holder was last observed, for error messages.
      this.#options.runtime.logger.error("the end of an agent's connection could not be stored", { err: error });
    }
  }

  #guarded(session: Session, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#failed(session, error);
    }
  }

  /** Closes the connection of an agent whose message failed unexpectedly. The agent reconnects; other agents are unaffected. */
  #failed(session: Session, error: unknown): void {
    this.#options.runtime.logger.error("a message of an agent could not be handled; closing its connection", {
      err: error,
    });
    session.terminate();
    this.#ended(session);
  }

  /** Closes connections that are silent or never sent session_hello, while any connection is open. */
  #watch(): void {
    this.#cancelWatch ??= this.#options.runtime.timers.after(this.#ttl / 4, () => {
      this.#cancelWatch = undefined;
      const now = this.#options.runtime.clock.monotonic();
      for (const session of this.#sessions) {
        const since = session.identity ? session.lastFrameAt : session.connectedAt;
        if (now - since >= this.#ttl) {
          session.terminate();
          this.#ended(session);
        }
      }
      if (this.#sessions.size > 0) {
        this.#watch();
      }
    });
  }
}

function send(session: Session, response: ({ readonly id: unknown } & Outcome) | undefined): void {
  if (response) {
    session.send(response);
  }
}
