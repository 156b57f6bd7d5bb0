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
