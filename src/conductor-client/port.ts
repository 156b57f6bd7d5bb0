import type { Clock } from "../runtime/time.js";
import { ConductorError } from "./errors.js";
import type { AgentMethod, AgentMethods } from "./methods/agent.js";
import type { ConductorMethod, ConductorMethods } from "./methods/conductor.js";
import type { ParamsOf, ResultOf } from "./methods/method.js";
import type { ControlledHost, HostAction } from "./methods/session.js";

/** Nova's default of `rpc_response_timeout`, in milliseconds. */
export const RPC_RESPONSE_TIMEOUT = 60_000;

export interface CallOptions {
  /** Milliseconds, over reconnections; then {@link MessagingTimeout}. Default {@link RPC_RESPONSE_TIMEOUT}. */
  readonly timeout?: number;
  /** Sent with the call, for logs and Placement: `req-<uuid>`. */
  readonly requestId?: string;
  readonly signal?: AbortSignal;
  /** Whether the call may be delayed a little and batched with those of other hosts on the connection. */
  readonly lowPriority?: boolean;
}

/** The state of record and the other agents, from the point of view of one host's agent. */
export interface Conductor {
  /** Survives reconnections: a repeated call has the same request id, and takes effect once. */
  call<M extends ConductorMethod>(
    method: M,
    params: ParamsOf<ConductorMethods, M>,
    options?: CallOptions,
  ): Promise<ResultOf<ConductorMethods, M>>;
  /** @throws {MessagingTimeout} no agent serves `host`, or it did not respond in time. */
  callAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options?: CallOptions,
  ): Promise<ResultOf<AgentMethods, M>>;
  /** Resolves when the conductor has stored the message. */
  castAgent<M extends AgentMethod>(
    host: string,
    method: M,
    params: ParamsOf<AgentMethods, M>,
    options?: CallOptions,
  ): Promise<void>;
}

/** The caller's data for a handler. */
export interface RequestContext {
  readonly requestId: string;
  /**
   * Rejects a call whose caller no longer waits, and may assume that the call will never be performed. A handler calls this
   * after it has acquired its lock, before it changes anything. Casts always pass, since they have no waiting caller.
   * @throws {MessagingTimeout}
   */
  assertCallerWaiting(): void;
}

/**
 * Creates the context of a request.
 * @param timeout milliseconds that its caller waits; infinite if there is no waiting caller
 */
export function createRequestContext(
  method: string,
  requestId: string,
  timeout: number,
  clock: Pick<Clock, "monotonic">,
): RequestContext {
  const deadline = clock.monotonic() + timeout;
  return {
    requestId,
    assertCallerWaiting: () => {
      if (clock.monotonic() >= deadline) {
        const text = `${method}: its caller has stopped waiting; nothing was done`;
        throw new ConductorError("MessagingTimeout", text, { method });
      }
    },
  };
}

export type AgentHandlers = {
  readonly [M in AgentMethod]: (
    params: ParamsOf<AgentMethods, M>,
    context: RequestContext,
  ) => Promise<ResultOf<AgentMethods, M>>;
};

/** The session of one host on a connection to the conductor. */
export interface HostSession extends Conductor {
  readonly host: string;
  /**
   * Acquires the host's lease (spec 2.4 G6) and renews it. Waits for the lease of an owner that has ended to expire, unless
   * that owner's process is known to be dead.
   * @throws {HostLeaseHeld} another live agent has it.
   */
  acquireLease(): Promise<void>;
  /** Whether the lease is valid by this agent's own monotonic clock; nothing is destroyed without it. */
  readonly leaseHeld: boolean;
  /**
   * Resolves when {@link leaseHeld} is final: usually at once, but later while the connection on which the lease depends is
   * being re-established. Operations in progress wait for it, since nothing is lost unless another agent takes the host.
   * Undefined if it is final now.
   */
  leaseSettled(): Promise<void> | undefined;
  /**
   * Greater than that of every earlier owner of the host's lease, so that a hypervisor can distinguish them. Null if no
   * lease was acquired, or the conductor's release has no epochs.
   */
  readonly leaseEpoch: number | null;
  /** Resolves when another agent took the host, or the lease could not be renewed in time and was then lost. */
  readonly leaseLost: Promise<string>;
  /**
   * Starts to accept casts and calls (spec 2.1 step 6). A later call replaces the handlers. A method without a handler is
   * rejected; a cast of it then waits for the next process that serves the host.
   */
  serve(handlers: Partial<AgentHandlers>): Promise<void>;
  /** Stops accepting messages; accepted ones are completed. */
  stopServing(): Promise<void>;
  /**
   * Stops accepting requests that begin an operation (spec 2.8). A rejected cast waits for the next process of the host.
   * @param handlers those that end the present moves; null if there is no move. A Nova of 2026.1 or later has a separate
   * topic for such requests, which is read with the handlers of {@link serve} until {@link stopServing}.
   */
  drain(handlers: Partial<AgentHandlers> | null): Promise<void>;
  /**
   * Reports a change among the host's guests to interested clients. Absent if this kind of connection has no such clients.
   */
  guestsChanged?(): void;
  /** Releases the lease and ends the session. */
  close(): Promise<void>;
}

/** A session that can be killed like its process. */
export interface KillableSession extends HostSession {
  /**
   * Ends the session as `kill -9` of a process would, while the connection continues: the lease is not released, no call
   * settles or is repeated, and later results of handlers are dropped. Resolves when the peer has confirmed it, or the
   * connection has ended.
   */
  kill(): Promise<void>;
}

/** Starts, stops and kills hosts of this process, on request over the connection. */
export interface HostController {
  /** Resolves when the action is complete. @throws an error with what failed, and why */
  control(host: string, action: HostAction): Promise<ControlledHost>;
}

export type ConnectionState = "connecting" | "connected" | "waiting" | "closed";

/** A connection to a conductor, shared by many hosts. It reconnects by itself with back-off. */
export interface ConductorConnection {
  readonly state: ConnectionState;
  /**
   * The service version that agents under this control plane must report (spec 1.2); undefined for the version of this
   * build.
   */
  readonly serviceVersion?: number;
  onState(listener: (state: ConnectionState, detail: string) => void): void;
  /**
   * @throws {ConductorUnreachable} only after `giveUpAfter` of the connection's options.
   * @throws {JoinTokenRefused} a retry cannot help.
   * @throws {UnsupportedProtocol} a retry cannot help.
   */
  connected(): Promise<void>;
  /**
   * `lease: false` (quirk `no-host-lease`): no lease is requested, `leaseHeld` is always true, nothing is rejected for lack
   * of one.
   */
  host(name: string, options?: { readonly lease?: boolean }): KillableSession;
  /**
   * Announces the hosts of `controller`, and repeats this after each reconnection. Returns a function that announces
   * changes. Absent if this kind of connection cannot control hosts.
   */
  offerControl?(controller: HostController): (host: ControlledHost) => void;
  close(): Promise<void>;
}

/** Events of a message. `returned`: no queue accepted it; `retried`: it was sent again. */
type MessageEvent = "in" | "out" | "returned" | "retried";

/**
 * Counts the messages of a connection to a real Nova. It gets only the name of a message's method, which is one of a bounded
 * number. Must not throw.
 */
export interface MessageObserver {
  /** @param count default 1; 0 initialises the counter */
  message(event: MessageEvent, method: string, count?: number): void;
  /** The number of pending calls has changed. */
  waitedFor(method: string, change: 1 | -1): void;
}

export const NO_OBSERVER: MessageObserver = Object.freeze({ message() {}, waitedFor() {} });
