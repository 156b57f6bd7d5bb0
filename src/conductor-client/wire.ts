import { HttpConnectFailure } from "../runtime/http.js";
import { type Socket, type Sockets, UpgradeRejectedError } from "../runtime/sockets.js";
import type { Timers } from "../runtime/time.js";
import * as errors from "./errors.js";
import { ConductorUnreachable, JoinTokenRejected } from "./errors.js";

/** JSON-RPC 2.0 as it goes over the agent's wire, in both directions. One text frame holds one message or a batch. */
export interface RequestFrame {
  readonly jsonrpc: "2.0";
  /** Absent: a notification, which is never answered. */
  readonly id?: RpcId;
  readonly method: string;
  /** By name only. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly meta?: Meta;
}

export type RpcId = string | number | null;

/** What travels beside the parameters: this wire's one addition to the standard. */
export interface Meta {
  /** The host for which the caller speaks; towards agents: the host that is meant. */
  readonly host?: string;
  /** The host's own boot; absent: the connection's. */
  readonly boot?: string;
  /** `req-<uuid>` */
  readonly requestId?: string;
  /** The caller has seen the answers of all its calls up to this id, or has given them up. */
  readonly ack?: number;
  /** The caller does not take part in host leases (quirk `no-host-lease`). */
  readonly unfenced?: boolean;
  /** The number of a cast, the same when it is delivered again. */
  readonly message?: number;
  /** The name of a call to an agent, the same when it is asked again. */
  readonly call?: string;
  /** Milliseconds that the caller of an agent still waits for the answer. */
  readonly timeout?: number;
}

export type ResponseFrame = {
  readonly jsonrpc: "2.0";
  readonly id: RpcId;
} & Outcome;

export type Outcome = { readonly result: unknown } | { readonly error: WireError };

export interface WireError {
  readonly code: number;
  readonly message: string;
  readonly data?: {
    /** OpenStack's name of the error. */
    readonly name: string;
    readonly details: Readonly<Record<string, unknown>>;
  };
}

/** The standard's codes, and this wire's own. */
export const RPC_CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  /** An error of the application; `data.name` tells which. */
  application: -32000,
} as const;

/** Path of the conductor's WebSocket. */
export const CONDUCTOR_PATH = "/conductor";

/**
 * Version of this protocol, which a new method for agents to ask raises: an agent that asks it would not be understood by an older
 * conductor, and is refused by it. 2 has `hosts_report_state`, 3 has
 * `hosts_to_report`, and `startHosts` of `restore_cluster`.
 */
export const PROTOCOL_VERSION = 3;

/** The oldest version whose agents a conductor understands. */
export const OLDEST_PROTOCOL = 1;

type ErrorClass = new (message: string, data?: Readonly<Record<string, unknown>>) => errors.ConductorError;

/** Every class of `errors.ts` by its name, so that a new one cannot be forgotten here. */
const CLASSES: ReadonlyMap<string, ErrorClass> = new Map(Object.entries(errors));

/** An error as it is sent. Only errors that belong on the wire keep their text: others could show a person's data. */
export function encodeError(error: unknown): WireError {
  if (!(error instanceof errors.ConductorError)) {
    return {
      code: RPC_CODES.internalError,
      message: "internal error; the log of the process that was asked has the cause",
    };
  }
  const code = error instanceof errors.InvalidParameters ? RPC_CODES.invalidParams : RPC_CODES.application;
  return { code, message: error.message, data: { name: error.name, details: error.data } };
}

/** The error as the class it left as; one of an unknown name as a plain {@link errors.ConductorError}. */
export function decodeError(error: WireError): errors.ConductorError {
  const known = CLASSES.get(error.data?.name ?? "");
  if (known) {
    return new known(error.message, error.data?.details);
  }
  return new errors.ConductorError(error.message, { code: error.code, ...error.data?.details });
}

/** How a message begins when something answers, and TLS is what is wrong; it says what to do. */
export const NO_TLS = "no TLS with the control plane";

/** `http://host:port` or `ws://…` as the address of the conductor's WebSocket there. */
export function conductorUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  const scheme = protocol === "https:" || protocol === "wss:" ? "wss" : "ws";
  const path = pathname.replace(/\/+$/, "");
  return `${scheme}://${host}${path.endsWith(CONDUCTOR_PATH) ? path : `${path}${CONDUCTOR_PATH}`}`;
}

/**
 * Opens a socket to the conductor.
 * @throws {JoinTokenRejected} trying again cannot help.
 * @throws {ConductorUnreachable} anything else.
 */
export async function openSocket(
  url: string,
  joinToken: string,
  deps: { readonly sockets: Sockets; readonly timers: Timers },
  limits: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const { timeout, signal } = limits;
  const late = new AbortController();
  const cancel = deps.timers.after(timeout, () => late.abort(new Error(`no answer within ${timeout} ms`)));
  const stop = () => late.abort(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await deps.sockets.connect(url, {
      headers: { authorization: `Bearer ${joinToken}` },
      signal: late.signal,
    });
  } catch (error) {
    throw translate(error, url);
  } finally {
    cancel();
    signal.removeEventListener("abort", stop);
  }
}

function translate(error: unknown, url: string): Error {
  if (error instanceof UpgradeRejectedError && error.status === 401) {
    return new JoinTokenRejected(`the conductor at ${url} refused this agent: ${error.body}`);
  }
  if (error instanceof UpgradeRejectedError && /speaks TLS/.test(error.body)) {
    const secure = url.replace(/^ws:/, "wss:");
    return new ConductorUnreachable(
      `${NO_TLS} at ${url}: that port speaks TLS: name it by ${secure}, with its CA in [conductor] cafile`,
    );
  }
  if (error instanceof HttpConnectFailure && error.tls !== undefined) {
    return new ConductorUnreachable(`${NO_TLS} at ${url}: ${error.tls} (${error.code})`);
  }
  if (error instanceof HttpConnectFailure) {
    return new ConductorUnreachable(`no control plane answers at ${url} (${error.code})`);
  }
  return new ConductorUnreachable(error instanceof Error ? error.message : String(error));
}
