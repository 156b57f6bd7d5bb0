import type { AgentMethod } from "./agent.js";
import type { Method } from "./method.js";

/** The wire's own methods: who connects, for which hosts, and what agents say to each other. */
export interface SessionMethods {
  /** The first message of a connection. A second connection of the same boot takes the place of the first. */
  session_hello: Method<
    {
      protocol: number;
      /** One life of one agent process: a UUID. */
      bootId: string;
      pid: number;
      /** Equal for processes to which a pid means the same process; see `Processes.machine`. */
      machine: string;
      /** The program's version, for the log. */
      version: string;
    },
    {
      protocol: number;
      /** Milliseconds without a sign of life after which a lease may be given away, and the connection is cut. */
      leaseTtl: number;
      /** Milliseconds between pings that the conductor would like. */
      pingEvery: number;
    }
  >;
  /** A sign of life; it renews all leases of the connection. */
  session_ping: Method<Record<string, never>, null>;
  /**
   * Takes the lease of a host, or takes it back on a new connection of the same boot.
   * @throws HostLeaseHeld with {@link LeaseHolder} as data
   */
  host_lease: Method<
    {
      host: string;
      /** Boot id of a holder on the same machine whose process is gone: its lease ends with its connection. */
      holderIsDead?: string;
    },
    {
      /** Greater than that of every earlier holder of the host; the same when one boot takes its lease back. */
      epoch: number;
    }
  >;
  host_release: Method<{ host: string }, null>;
  /** Starts to take casts and calls; needs the host's lease unless the caller is unfenced. */
  host_serve: Method<{ host: string }, null>;
  host_unserve: Method<{ host: string }, null>;
  /** @throws MessagingTimeout, and what the agent answers */
  agent_call: Method<{ host: string; method: AgentMethod; params: Record<string, unknown>; timeout: number }, unknown>;
  /** Stored before it is answered. */
  agent_cast: Method<{ host: string; method: AgentMethod; params: Record<string, unknown> }, null>;
}

export type SessionMethod = keyof SessionMethods;

/** Sent to the agent as a notification: it holds the lease of `host` no longer. */
export const LEASE_LOST = "lease_lost";

/** Data of {@link HostLeaseHeld}. */
export interface LeaseHolder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly machine: string;
  /** Milliseconds since the holder was last heard of. */
  readonly seenAgo: number;
  /** True: its connection is alive. */
  readonly connected: boolean;
  /** Milliseconds until the lease ends by itself when the holder does not come back; null while it is connected. */
  readonly freeIn: number | null;
}
