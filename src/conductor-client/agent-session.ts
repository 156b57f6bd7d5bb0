import { never } from "../runtime/lifetime.js";
import { ConductorError, isConductorError } from "./errors.js";
import type { HostLease } from "./host-lease.js";
import type { Link } from "./link.js";
import type { AgentMethod, AgentMethods } from "./methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "./methods/conductor.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import type { SessionMethods } from "./methods/session.js";
import { type AgentHandlers, type CallOptions, type KillableSession, RPC_RESPONSE_TIMEOUT } from "./port.js";
import type { Meta } from "./wire.js";

/** The connection, as a host's session uses it. */
export interface Carrier {
  /** Calls a method; repeats the call over reconnections until there is a response. */
  call(method: string, params: unknown, meta: Meta, options: CallOptions): Promise<unknown>;
  /**
   * Calls a session method on the present link, or on the next one if that ends first. `sentAt` is the monotonic time at
   * which the answered request was sent.
   */
  ask<M extends "host_lease" | "host_serve">(
    method: M,
    params: ParamsOf<SessionMethods, M>,
    options: { readonly meta: Meta; readonly ended: () => boolean },
  ): Promise<{ readonly sentAt: number; readonly result: ResultOf<SessionMethods, M> }>;
  /** Calls a session method whose effect the end of the link also has, so that no response is needed then. */
  notify(
    method: "host_release" | "host_unserve" | "host_killed",
    meta: Meta & { readonly host: string },
  ): Promise<void>;
  /** Reports a change among the host's guests. */
  guestsChanged(host: string): void;
  /** Returns the monotonic time. */
  now(): number;
  readonly leaseTtl: number;
  /** Returns the session of this connection that owns the host. */
  claim(session: AgentSession): AgentSession;
  /** Removes a session that has ended, and with it the boot of its host. */
  forget(session: AgentSession): void;
  /** Returns the boots of the host that have ended on this connection. */
  endedBoots(host: string): ReadonlySet<string>;
  /** Drops the pending calls of a boot. */
  dropCalls(boot: Pick<Meta, "host" | "boot">): void;
  readonly inbound: {
    serve(host: string, handlers: Partial<AgentHandlers>): void;
    stop(host: string): void;
    serves(host: string): boolean;
    /** Ends the present boot: later messages for the host belong to another boot. */
    end(host: string): void;
  };
}

/** The session of one host on a connection; see {@link KillableSession}. */
export class AgentSession implements KillableSession {
  readonly host: string;
  readonly #carrier: Carrier;
  readonly #lease: HostLease;
  readonly #fenced: boolean;
  readonly boot: string | undefined;
  /** Set by {@link kill}. */
  #killed = false;
  /** Whether the session has, or has had, handlers. */
  #served = false;
  #stopping: Promise<void> = Promise.resolve();
  #closed = false;
  /** Whether the session has ended. */
  #left = false;

  /**
   * @param options `fenced`: the host's lease is required; `boot`: the host's own boot, or undefined for the connection's.
   */
  constructor(
    host: string,
    carrier: Carrier,
    lease: HostLease,
    { fenced, boot }: { readonly fenced: boolean; readonly boot: string | undefined },
  ) {
    this.host = host;
    this.#carrier = carrier;
    this.#lease = lease;
    this.#fenced = fenced;
    this.boot = boot;
  }

  get leaseHeld(): boolean {
    return !this.#killed && (!this.#fenced || this.#lease.held);
  }

  get leaseEpoch(): number | null {
    return this.#lease.epoch;
  }

  /** Always settled, since the lease outlives a connection. */
  leaseSettled(): undefined {}

  get leaseLost(): Promise<string> {
    return this.#lease.lost;
  }

  async acquireLease(): Promise<void> {
    if (!this.#fenced) {
      return;
    }
    if (this.#carrier.claim(this) !== this) {
      throw new ConductorError(
        "HostLeaseHeld",
        `host ${this.host} is already used by another agent in this process; give each agent its own --host`,
        {
          host: this.host,
        },
      );
    }
    const ended = this.#carrier.endedBoots(this.host);
    await this.#lease.acquire((holderIsDead) => this.#askForLease(holderIsDead), ended);
  }

  async call<M extends ConductorMethod>(
    method: M,
    params: ParamsOf<ConductorMethods, M>,
    options: CallOptions = {},
  ): Promise<ResultOf<ConductorMethods, M>> {
    // The method table determines the result's type: both peers are compiled against it.
    return (await this.#call(method, params, this.#meta(options), options)) as ResultOf<ConductorMethods, M>;
  }

  async callAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<ResultOf<AgentMethods, M>> {
    const { timeout = RPC_RESPONSE_TIMEOUT } = options;
    const message = { host, method, params, timeout };
    return (await this.#call("agent_call", message, this.#meta(options), options)) as ResultOf<AgentMethods, M>;
  }

  async castAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options: CallOptions = {},
  ): Promise<void> {
    const { requestId } = params as { readonly requestId?: string };
    const meta = this.#meta({ ...(requestId === undefined ? {} : { requestId }), ...options });
    await this.#call("agent_cast", { host, method, params }, meta, options);
  }

  guestsChanged(): void {
    if (!this.#killed && !this.#left) {
      this.#carrier.guestsChanged(this.host);
    }
  }

  async serve(handlers: Partial<AgentHandlers>): Promise<void> {
    // Messages already sent to the former handlers must arrive first, or they would be handled out of order.
    await this.#stopping;
    if (this.#killed) {
      return never();
    }
    this.#served = true;
    this.#carrier.inbound.serve(this.host, handlers);
    try {
      await this.#carrier.ask("host_serve", { host: this.host }, this.#asking());
    } catch (error) {
      this.#carrier.inbound.stop(this.host);
      throw error;
    }
  }

  async stopServing(): Promise<void> {
    if (!this.#killed && this.#carrier.inbound.serves(this.host)) {
      this.#carrier.inbound.stop(this.host);
      this.#stopping = this.#carrier.notify("host_unserve", this.#meta({}));
    }
    await this.#stopping;
  }

  drain(handlers: Partial<AgentHandlers> | null): Promise<void> {
    return handlers === null ? this.stopServing() : this.serve(handlers);
  }

  async close(): Promise<void> {
    if (this.#closed) {
      return;
    }
    this.#closed = true;
    await this.stopServing();
    if (this.#lease.claimed) {
      this.#lease.giveBack();
      await this.#carrier.notify("host_release", this.#meta({}));
    }
    if (!this.#left) {
      this.#leave();
    }
  }

  async kill(): Promise<void> {
    if (this.#killed || this.#left) {
      return;
    }
    this.#closed = true;
    this.#killed = true;
    const { host } = this;
    this.#carrier.dropCalls({ host, ...(this.boot === undefined ? {} : { boot: this.boot }) });
    this.#lease.giveBack();
    this.#leave();
    await this.#carrier.notify("host_killed", this.#meta({}));
  }

  #leave(): void {
    this.#left = true;
    if (this.#served) {
      this.#carrier.inbound.end(this.host);
    }
    this.#carrier.forget(this);
  }

  /** Re-acquires the lease and serves again on a new link. Any error but a lost lease ends the link. */
  async resume(link: Link, timeout: number): Promise<void> {
    if (this.#fenced && !this.#lease.claimed) {
      return;
    }
    const meta = this.#meta({});
    try {
      await this.#resume(link, timeout);
    } finally {
      // If the session was killed meanwhile, it has re-acquired a lease that nothing would release.
      if (this.#killed && link.open) {
        await link.request("host_killed", { host: this.host }, { timeout, meta });
      }
    }
  }

  async #resume(link: Link, timeout: number): Promise<void> {
    const meta = this.#meta({});
    try {
      if (this.#fenced) {
        const sentAt = this.#carrier.now();
        const granted = await link.request("host_lease", { host: this.host }, { timeout, meta });
        const { epoch } = this.#lease;
        if (epoch !== null && granted?.epoch !== epoch) {
          await link.request("host_release", { host: this.host }, { timeout, meta });
          this.#lost(
            `its lease was granted anew in epoch ${granted?.epoch}, after this agent's epoch ${epoch}: another agent may have used the host`,
          );
          return;
        }
        this.#lease.grant(sentAt, this.#carrier.leaseTtl, granted);
      }
      if (!this.#killed && this.#carrier.inbound.serves(this.host)) {
        await link.request("host_serve", { host: this.host }, { timeout, meta });
      }
    } catch (error) {
      if (!isConductorError(error, "HostLeaseHeld")) {
        throw error;
      }
      this.#lost(error.message);
    }
  }

  /**
   * Confirms the lease after the response to a ping on the link on which the lease was granted. @param sentAt monotonic time
   * of the ping
   */
  renewed(sentAt: number): void {
    if (this.#lease.claimed) {
      this.#lease.confirm(sentAt, this.#carrier.leaseTtl);
    }
  }

  lose(reason: string): void {
    if (this.#lease.claimed) {
      this.#lost(reason);
    }
  }

  #lost(reason: string): void {
    this.#lease.lose(reason);
    if (!this.#killed) {
      this.#carrier.inbound.stop(this.host);
    }
  }

  async #askForLease(holderIsDead: string | undefined): Promise<void> {
    const params = holderIsDead === undefined ? { host: this.host } : { host: this.host, holderIsDead };
    const { sentAt, result } = await this.#carrier.ask("host_lease", params, this.#asking());
    if (this.#killed) {
      return never();
    }
    this.#lease.grant(sentAt, this.#carrier.leaseTtl, result);
  }

  /** Calls the conductor. After the session's end the promise never settles. */
  async #call(method: string, params: unknown, meta: Meta, options: CallOptions): Promise<unknown> {
    return this.#killed ? never() : this.#carrier.call(method, params, meta, options);
  }

  #asking(): { readonly meta: Meta; readonly ended: () => boolean } {
    return { meta: this.#meta({}), ended: () => this.#killed };
  }

  #meta({ requestId }: CallOptions): Meta & { readonly host: string } {
    return {
      host: this.host,
      ...(this.boot === undefined ? {} : { boot: this.boot }),
      ...(requestId === undefined ? {} : { requestId }),
      ...(this.#fenced ? {} : { unfenced: true }),
    };
  }
}
