import { errorMessage } from "../runtime/error-messages.js";
import { never } from "../runtime/lifetime.js";
import { backOff } from "../runtime/retry.js";
import type { Runtime } from "../runtime/runtime.js";
import type { CancelTimer } from "../runtime/time.js";
import { AgentSession, type Carrier } from "./agent-session.js";
import { ConductorError, isConductorError } from "./errors.js";
import { HostLease } from "./host-lease.js";
import { Inbound, OfferedControl } from "./inbound.js";
import { Link } from "./link.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import { type ControlledHost, HOST_CONTROL, LEASE_LOST, type SessionMethods, WATCH_GUESTS } from "./methods/session.js";
import type { CallOptions, ConductorConnection, ConnectionState, HostController, KillableSession } from "./port.js";
import { GuestReports, StateReports } from "./state-reports.js";
import { UnansweredCalls } from "./unanswered-calls.js";
import { conductorUrl, type Meta, openSocket, PROTOCOL_VERSION, type RequestFrame } from "./wire.js";

export interface ConnectOptions {
  /** URL of the control plane: `http://host:port` (or `ws://`); the conductor's own path is appended. */
  readonly url: string;
  readonly joinToken: string;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "random" | "processes" | "sockets" | "logger">;
  /** The program's version, for the conductor's log. */
  readonly version?: string;
  /**
   * Returns the pause in milliseconds after failed attempt number `attempt` (from 1). Default: 250 ms, doubled up to 5 s,
   * with jitter.
   */
  readonly backoff?: (attempt: number) => number;
  /** Milliseconds without a connection after which the connection fails. Default: never. */
  readonly giveUpAfter?: number;
}

/** Timeout of connection attempts and of session methods, in milliseconds. */
const LINK_TIMEOUT = 8_000;

const NONE: ReadonlySet<string> = new Set();

/** Connects, and reconnects until it is closed. Returns at once; see `connected()`. */
export function connectToConductor(options: ConnectOptions): ConductorConnection {
  const connection = new Connection(options);
  connection.start();
  return connection;
}

class Connection implements ConductorConnection, Carrier {
  readonly inbound: Inbound;
  readonly #options: ConnectOptions;
  readonly #url: string;
  readonly #bootId: string;
  readonly #calls: UnansweredCalls;
  readonly #backoff: (attempt: number) => number;
  readonly #sessions = new Set<AgentSession>();
  /** The session of this connection that owns a host, by host. */
  readonly #claims = new Map<string, AgentSession>();
  /** The hosts that have had a session. */
  readonly #hosts = new Set<string>();
  readonly #ended = new Map<string, Set<string>>();
  readonly #guests: GuestReports;
  readonly #reports: StateReports;
  readonly #listeners: ((state: ConnectionState, detail: string) => void)[] = [];
  readonly #stop = new AbortController();
  #waiters: { readonly resolve: (link: Link) => void; readonly reject: (error: Error) => void }[] = [];
  #state: ConnectionState = "connecting";
  /** Set while calls may be sent, which includes the resumption of hosts. */
  #link: Link | undefined;
  #control: OfferedControl | undefined;
  #failure: Error | undefined;
  leaseTtl = 0;

  constructor(options: ConnectOptions) {
    const { runtime, url, backoff } = options;
    this.#options = options;
    this.#url = conductorUrl(url);
    this.#bootId = runtime.random.uuid();
    this.#calls = new UnansweredCalls(runtime);
    this.inbound = new Inbound(runtime);
    this.#guests = new GuestReports(runtime);
    this.#reports = new StateReports(runtime.timers, async (params, limits) => {
      const rejected = await this.call("hosts_report_state", params, {}, limits);
      return rejected as ResultOf<SessionMethods, "hosts_report_state">;
    });
    this.#backoff = backoff ?? backOff({ first: 250, most: 5_000, jitter: { random: runtime.random, share: 0.5 } });
  }

  get state(): ConnectionState {
    return this.#state;
  }

  onState(listener: (state: ConnectionState, detail: string) => void): void {
    this.#listeners.push(listener);
  }

  async connected(): Promise<void> {
    await this.#usableLink();
  }

  host(name: string, options: { readonly lease?: boolean } = {}): KillableSession {
    const { lease: fenced = true } = options;
    // Its own boot id distinguishes this session's calls from those that a former session of the host has sent.
    const boot = fenced && this.#hosts.has(name) ? this.#options.runtime.random.uuid() : undefined;
    if (fenced) {
      this.#hosts.add(name);
    }
    const session = new AgentSession(name, this, new HostLease(name, this.#options.runtime), { fenced, boot });
    this.#sessions.add(session);
    return session;
  }

  offerControl(controller: HostController): (host: ControlledHost) => void {
    const control = new OfferedControl(controller, this.#options.runtime.logger);
    this.#control = control;
    return (host) => control.notify(host, this.#link);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions].map((session) => session.close()));
    this.#reports.flush();
    this.#link?.close();
    this.#end(new ConductorError("ConductorUnreachable", "the connection to the conductor was closed by this agent"));
  }

  start(): void {
    this.#run().catch((error: unknown) => {
      this.#end(error instanceof Error ? error : new ConductorError("ConductorUnreachable", String(error)));
    });
  }

  // Methods for its sessions.

  now(): number {
    return this.#options.runtime.clock.monotonic();
  }

  claim(session: AgentSession): AgentSession {
    const holder = this.#claims.get(session.host) ?? session;
    this.#claims.set(session.host, holder);
    return holder;
  }

  forget(session: AgentSession): void {
    this.#sessions.delete(session);
    if (this.#claims.get(session.host) === session) {
      this.#claims.delete(session.host);
    }
    const ended = this.#ended.get(session.host) ?? new Set();
    this.#ended.set(session.host, ended.add(session.boot ?? this.#bootId));
  }

  endedBoots(host: string): ReadonlySet<string> {
    return this.#ended.get(host) ?? NONE;
  }

  dropCalls(boot: Pick<Meta, "host" | "boot">): void {
    this.#calls.dropAll(boot);
    this.#reports.dropAll(boot);
  }

  async call(method: string, params: unknown, meta: Meta, options: CallOptions): Promise<unknown> {
    if (this.#failure) {
      throw this.#failure;
    }
    const named = params as Readonly<Record<string, unknown>>;
    // A connection with one host has no other heartbeats to batch.
    if (method === "service_report_state" && options.lowPriority === true && this.#sessions.size > 1) {
      return this.#reports.add(Number(named.id), meta, options);
    }
    return this.#calls.add({ method, params: named, meta }, options, (request) => this.#link?.sendRequest(request));
  }

  guestsChanged(host: string): void {
    this.#guests.changed(host);
  }

  async ask<M extends "host_lease" | "host_serve">(
    method: M,
    params: ParamsOf<SessionMethods, M>,
    { meta, ended }: { readonly meta: Meta; readonly ended: () => boolean },
  ): Promise<{ readonly sentAt: number; readonly result: ResultOf<SessionMethods, M> }> {
    for (;;) {
      const link = await this.#usableLink();
      if (ended()) {
        return never();
      }
      const sentAt = this.now();
      try {
        return { sentAt, result: await link.request(method, params, { timeout: LINK_TIMEOUT, meta }) };
      } catch (error) {
        if (ended()) {
          return never();
        }
        if (!isConductorError(error, "MessagingTimeout")) {
          throw error;
        }
        link.cut();
      }
    }
  }

  async notify(
    method: "host_release" | "host_unserve" | "host_killed",
    meta: Meta & { readonly host: string },
  ): Promise<void> {
    const link = this.#link;
    const { host } = meta;
    try {
      await link?.request(method, { host }, { timeout: LINK_TIMEOUT, meta });
    } catch (err) {
      // The end of the connection has the same effect.
      this.#options.runtime.logger.debug(`no response to ${method}; closing the connection`, { err, host });
      link?.cut();
    }
  }

  // Lifecycle of the connection: a sequence of links.

  async #run(): Promise<void> {
    const { timers, clock } = this.#options.runtime;
    const { giveUpAfter = Number.POSITIVE_INFINITY } = this.#options;
    let since = clock.monotonic();
    for (let failures = 1; !this.#failure; failures += 1) {
      let reason: string;
      try {
        this.#enter("connecting", this.#url);
        const link = await this.#open();
        reason = await link.ended;
        failures = 1;
        since = clock.monotonic();
      } catch (error) {
        if (isFinal(error)) {
          throw error;
        }
        reason = errorMessage(error);
      }
      this.#link = undefined;
      if (this.#failure) {
        return;
      }
      if (clock.monotonic() - since >= giveUpAfter) {
        throw new ConductorError(
          "ConductorUnreachable",
          `the conductor at ${this.#url} was not reachable for ${giveUpAfter} ms: ${reason}`,
        );
      }
      const delay = this.#backoff(failures);
      this.#enter("waiting", `${reason}; next try in ${(delay / 1000).toFixed(1)} s`);
      await timers.sleep(delay, this.#stop.signal);
    }
  }

  /** Opens a link, sends hello, re-acquires the leases, and repeats pending calls. */
  async #open(): Promise<Link> {
    const { timers, processes, sockets } = this.#options.runtime;
    const { joinToken } = this.#options;
    const limits = { timeout: LINK_TIMEOUT, signal: this.#stop.signal };
    const link = new Link(await openSocket(this.#url, joinToken, { sockets, timers }, limits), timers, {
      onResponse: (id, outcome) => this.#calls.settle(id, outcome),
      onRequest: (request, from) => this.#onRequest(request, from),
    });
    try {
      const { pid, machine } = processes;
      const hello = { protocol: PROTOCOL_VERSION, bootId: this.#bootId, pid, machine };
      const { leaseTtl, pingEvery } = await link.request(
        "session_hello",
        { ...hello, version: this.#options.version ?? "unknown" },
        { timeout: LINK_TIMEOUT },
      );
      this.leaseTtl = leaseTtl;
      await Promise.all([...this.#sessions].map((session) => session.resume(link, LINK_TIMEOUT)));
      this.#control?.announce(link);
      this.#use(link);
      this.#keepAlive(link, pingEvery);
      return link;
    } catch (error) {
      link.cut();
      throw error;
    }
  }

  #use(link: Link): void {
    if (this.#failure || !link.open) {
      link.cut();
      return;
    }
    this.#link = link;
    for (const request of this.#calls.requests()) {
      link.sendRequest(request);
    }
    this.#enter("connected", this.#url);
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const { resolve } of waiters) {
      resolve(link);
    }
  }

  /** Sends pings until the link ends. Each response renews the leases of all hosts; a missing response ends the link. */
  #keepAlive(link: Link, every: number): void {
    const { timers } = this.#options.runtime;
    const ping = async () => {
      const sentAt = this.now();
      const meta = { ack: this.#calls.acknowledged };
      try {
        await link.request("session_ping", {}, { timeout: LINK_TIMEOUT, meta });
      } catch {
        link.cut();
        return;
      }
      for (const session of this.#sessions) {
        session.renewed(sentAt);
      }
      cancel = timers.after(every, ping);
    };
    let cancel: CancelTimer = timers.after(every, ping);
    link.ended.then(() => cancel());
  }

  #onRequest(request: RequestFrame, link: Link): void {
    if (request.method === LEASE_LOST) {
      const { host, reason } = request.params ?? {};
      this.#claims.get(String(host))?.lose(String(reason));
      return;
    }
    if (request.method === HOST_CONTROL) {
      void this.#control?.take(request, link);
      return;
    }
    if (request.method === WATCH_GUESTS) {
      this.#guests.watched(request.params?.watched === true, link);
      return;
    }
    this.inbound.take(request, link);
  }

  async #usableLink(): Promise<Link> {
    if (this.#failure) {
      throw this.#failure;
    }
    if (this.#link?.open) {
      return this.#link;
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject });
    });
  }

  #enter(state: ConnectionState, detail: string): void {
    this.#state = state;
    for (const listener of this.#listeners) {
      listener(state, detail);
    }
  }

  #end(failure: Error): void {
    if (this.#failure) {
      return;
    }
    this.#failure = failure;
    this.#stop.abort(failure);
    this.#enter("closed", failure.message);
    this.#calls.failAll(failure);
    for (const { reject } of this.#waiters) {
      reject(failure);
    }
    this.#waiters = [];
  }
}

/** Whether a retry cannot help. */
function isFinal(error: unknown): boolean {
  return isConductorError(error, "JoinTokenRefused", "UnsupportedProtocol");
}
