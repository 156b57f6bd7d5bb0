import { errorMessage } from "../runtime/error-messages.js";
import { HttpConnectFailure } from "../runtime/http.js";
import { type Socket, type Sockets, UpgradeRejectedError } from "../runtime/sockets.js";
import type { Timers } from "../runtime/time.js";
import { ConductorError, isConductorError, toWireErrorCode } from "./errors.js";

/** A JSON-RPC 2.0 request on the agent's wire, in either direction. One text frame contains one message or a batch. */
export interface RequestFrame {
  readonly jsonrpc: "2.0";
  /** Absent in a notification, which has no response. */
  readonly id?: RpcId;
  readonly method: string;
  /** By name only. */
  readonly params?: Readonly<Record<string, unknown>>;
  readonly meta?: Meta;
}

export type RpcId = string | number | null;

/** Metadata next to the parameters: this wire's only extension of the standard. */
export interface Meta {
  /** The host on whose behalf the caller acts; in messages to agents, the recipient host. */
  readonly host?: string;
  /** The host's own boot; absent for the connection's. */
  readonly boot?: string;
  /** `req-<uuid>` */
  readonly requestId?: string;
  /** All calls of the caller up to this id have ended. */
  readonly ack?: number;
  /** Whether the caller does not take part in host leases (quirk `no-host-lease`). */
  readonly unfenced?: boolean;
  /** The number of a cast, equal when it is delivered again. */
  readonly message?: number;
  /** The name of a call to an agent, equal when it is repeated. */
  readonly call?: string;
  /** Milliseconds that the caller of an agent still waits for the response. */
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
  /** An error of the application, identified by `data.name`. */
  application: -32000,
} as const;

/** Path of the conductor's WebSocket. */
export const CONDUCTOR_PATH = "/conductor";

/**
 * Version of this protocol. A new method for agents increases it: an older conductor does not know the method, and rejects
 * an agent with a newer version. 2 adds `hosts_report_state`; 3 adds `hosts_to_report`, and `startHosts` of
 * `restore_cluster`; 4 adds `block_devices`, `block_device_save`, `block_device_destroy` and `volume_access`;
 * 5 adds `report_bridges`.
 */
export const PROTOCOL_VERSION = 5;

/** The oldest version of an agent that a conductor supports. */
export const OLDEST_PROTOCOL = 1;

/** Encodes an error. Only ConductorErrors keep their message: others could contain a user's data. */
export function encodeError(error: unknown): WireError {
  if (!(error instanceof ConductorError)) {
    return {
      code: RPC_CODES.internalError,
      message: "internal error; see the log of the called process for the cause",
    };
  }
  const code = isConductorError(error, "InvalidParameters") ? RPC_CODES.invalidParams : RPC_CODES.application;
  return { code, message: error.message, data: { name: error.name, details: error.data } };
}

/** Decodes an error; one with an unknown name gets the code ConductorError. */
export function decodeError(error: WireError): ConductorError {
  const code = toWireErrorCode(error.data?.name);
  return code === undefined
    ? new ConductorError("ConductorError", error.message, { code: error.code, ...error.data?.details })
    : new ConductorError(code, error.message, error.data?.details);
}

/** Prefix of the message for a server that responds without valid TLS; the message contains a hint. */
export const NO_TLS = "no TLS with the control plane";

/** Converts `http://host:port` or `ws://…` to the URL of the conductor's WebSocket there. */
export function conductorUrl(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  const scheme = protocol === "https:" || protocol === "wss:" ? "wss" : "ws";
  const path = pathname.replace(/\/+$/, "");
  return `${scheme}://${host}${path.endsWith(CONDUCTOR_PATH) ? path : `${path}${CONDUCTOR_PATH}`}`;
}

/**
 * Opens a socket to the conductor.
 * @throws {JoinTokenRefused} a retry cannot help.
 * @throws {ConductorUnreachable} any other failure.
 */
export async function openSocket(
  url: string,
  joinToken: string,
  deps: { readonly sockets: Sockets; readonly timers: Timers },
  limits: { readonly timeout: number; readonly signal: AbortSignal },
): Promise<Socket> {
  const { timeout, signal } = limits;
  const late = new AbortController();
  const cancel = deps.timers.after(timeout, () => late.abort(new Error(`no response within ${timeout} ms`)));
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
    return new ConductorError("JoinTokenRefused", `the conductor at ${url} rejected this agent: ${error.body}`);
  }
  if (error instanceof UpgradeRejectedError && /speaks TLS/.test(error.body)) {
    const secure = url.replace(/^ws:/, "wss:");
    return new ConductorError(
      "ConductorUnreachable",
      `${NO_TLS} at ${url}: that port uses TLS: use ${secure}, with its CA in [conductor] cafile`,
    );
  }
  if (error instanceof HttpConnectFailure && error.tls !== undefined) {
    return new ConductorError("ConductorUnreachable", `${NO_TLS} at ${url}: ${error.tls} (${error.code})`);
  }
  if (error instanceof HttpConnectFailure) {
    return new ConductorError("ConductorUnreachable", `no control plane responds at ${url} (${error.code})`);
  }
  return new ConductorError("ConductorUnreachable", errorMessage(error));
}
