import type { AgentMethod, AgentMethods } from "./methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "./methods/conductor.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import type { ControlledHost, HostAction } from "./methods/session.js";

/** Nova's default of `rpc_response_timeout`, ms. */
export const RPC_RESPONSE_TIMEOUT = 60_000;

export interface CallOptions {
  /** Milliseconds, over reconnections; then {@link MessagingTimeout}. Default {@link RPC_RESPONSE_TIMEOUT}. */
  readonly timeout?: number;
  /** Travels with the call, into logs and to Placement: `req-<uuid>`. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** Nobody minds when it is sent a little later, together with those of other hosts on the connection. */
  readonly lowPriority?: boolean;
}

/** The state of record and the other agents, as one host's agent sees them. */
export interface Conductor {
  /** Survives reconnections: the same request id is sent again, and acted on once. */
  call<M extends ConductorMethod>(
    method: M,
    params: ParamsOf<ConductorMethods, M>,
    options?: CallOptions,
  ): Promise<ResultOf<ConductorMethods, M>>;
  /** @throws {MessagingTimeout} no agent serves `host`, or it did not answer in time. */
  callAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options?: CallOptions,
  ): Promise<ResultOf<AgentMethods, M>>;
  /** Resolves once the conductor has stored the message. */
  castAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options?: CallOptions,
  ): Promise<void>;
}

/** What a handler may know of its caller. */
export interface RequestContext {
  readonly requestId: string;
  /**
   * Refuses a call whose caller has given up waiting, and may have gone on as if it were never to be done. A handler asks this
   * under the lock that it had to wait for, before it does anything. Lets casts pass, which have no waiting caller.
   * @throws {MessagingTimeout}
   */
  assertCallerWaiting(): void;
}

export type AgentHandlers = {
  readonly [M in AgentMethod]: (
    params: ParamsOf<AgentMethods, M>,
    context: RequestContext,
  ) => Promise<ResultOf<AgentMethods, M>>;
};

/** One host on a connection to the conductor. */
export interface HostSession extends Conductor {
  readonly host: string;
  /**
   * Takes the host's lease (spec 2.4 G6) and keeps it. Waits for the lease of a holder that has gone to end; does not wait
   * when the holder's process is known to be dead.
   * @throws {HostLeaseHeld} another live agent has it.
   */
  acquireLease(): Promise<void>;
  /** Whether the lease is held now by this agent's own monotonic clock; nothing is destroyed without it. */
  readonly leaseHeld: boolean;
  /**
   * Resolves when {@link leaseHeld} is more than a moment's answer: at once, but while the connection that the lease hangs on is
   * made again. What is under way waits for that, as nothing is wrong if nobody takes the host meanwhile. Undefined: it is.
   */
  leaseSettled(): Promise<void> | undefined;
  /**
   * Greater than that of every earlier holder of the host's lease, so that a hypervisor can tell them apart. Null: no lease was
   * taken, or the conductor is of a release that counts none.
   */
  readonly leaseEpoch: number | null;
  /** Resolves when another agent took the host, or the lease could not be renewed in time and was then lost. */
  readonly leaseLost: Promise<string>;
  /**
   * Starts to take casts and calls (spec 2.1 step 6). A later call replaces the handlers. A method without a handler is
   * refused, and a cast then waits for the next process that serves the host.
   */
  serve(handlers: Partial<AgentHandlers>): Promise<void>;
  /** Stops taking new ones; those taken run on. */
  stopServing(): Promise<void>;
  /**
   * Takes no more requests that begin something (spec 2.8). A cast that is not taken waits for the next process of the host.
   * @param handlers those that end the moves under way; null: no move is under way. A Nova of 2026.1 or later has a topic of its
   *   own for such requests, which is read with the handlers of {@link serve} until {@link stopServing}.
   */
  drain(handlers: Partial<AgentHandlers> | null): Promise<void>;
  /** Something has changed among the host's guests: said for whoever looks. Absent: nobody can look over this kind of connection. */
  guestsChanged?(): void;
  /** Gives back the lease and leaves. */
  close(): Promise<void>;
}

/** A session that can end as its process would. */
export interface KillableSession extends HostSession {
  /**
   * Ends as `kill -9` of a process would end it, though the connection lives on: nothing is given back, no call settles any
   * more, none is repeated, and what handlers still answer is dropped. Resolves when the other end knows, or the connection
   * has ended.
   */
  kill(): Promise<void>;
}

/** Starts, stops and kills hosts of this process, for who asks it over the connection. */
export interface HostController {
  /** Resolves when it is done. @throws what could not be done, and why. */
  control(host: string, action: HostAction): Promise<ControlledHost>;
}

export type ConnectionState = "connecting" | "connected" | "waiting" | "closed";

/** One socket to a conductor; it may carry many hosts, and comes back by itself with back-off. */
export interface ConductorConnection {
  readonly state: ConnectionState;
  /** What agents under this control plane have to say they are (spec 1.2); undefined: what this build is. */
  readonly serviceVersion?: number;
  onState(listener: (state: ConnectionState, detail: string) => void): void;
  /**
   * @throws {ConductorUnreachable} only when `giveUpAfter` of the connection's options has passed.
   * @throws {JoinTokenRefused, UnsupportedProtocol} trying again cannot help.
   */
  connected(): Promise<void>;
  /** `lease: false` (quirk `no-host-lease`): no lease is asked for, `leaseHeld` is always true, nothing is refused for want of one. */
  host(name: string, options?: { readonly lease?: boolean }): KillableSession;
  /**
   * Announces the hosts that `controller` controls, again after each reconnection; returns what tells of a change. Absent: nobody
   * can ask over this kind of connection.
   */
  offerControl?(controller: HostController): (host: ControlledHost) => void;
  close(): Promise<void>;
}

/** What happens to a message: `returned`: no queue took it; `retried`: it was sent again. */
type MessageEvent = "in" | "out" | "returned" | "retried";

/**
 * Counts the messages of a connection to a real Nova. Of a message it gets the name of its method, one of a bounded number, and
 * nothing else. Must not throw.
 */
export interface MessageObserver {
  /** @param count default 1; 0: it may happen from now on */
  message(event: MessageEvent, method: string, count?: number): void;
  /** A call has begun to be waited for, or is no longer. */
  waitedFor(method: string, change: 1 | -1): void;
}

export const NO_OBSERVER: MessageObserver = Object.freeze({ message() {}, waitedFor() {} });
