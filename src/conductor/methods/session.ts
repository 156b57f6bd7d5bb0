import { amount, anyObject, hostName, integer, name, oneOf, optional, uuid } from "../../records/field.js";
import { AGENT_METHODS, type AgentMethod } from "./agent.js";
import { asks, type MethodsOf, nothing, sets, trusted, writes } from "./method.js";

const agentMethod = oneOf(Object.keys(AGENT_METHODS) as AgentMethod[]);

/** The wire's own methods: who connects, for which hosts, and what agents say to each other. */
export const SESSION_METHODS = {
  /** The first message of a connection. A second connection of the same boot takes the place of the first. */
  session_hello: sets(
    {
      protocol: amount,
      /** One life of one agent process. */
      bootId: uuid,
      pid: amount,
      /** Equal for processes to which a pid means the same process; see `Processes.machine`. */
      machine: name,
      /** The program's version, for the log. */
      version: name,
    },
    trusted<Welcome>(),
  ),
  /** A sign of life; it renews all leases of the connection. */
  session_ping: sets({}, nothing),
  /**
   * Takes the lease of a host, or takes it back on a new connection of the same boot. `holderIsDead`: boot id of a holder on
   * the same machine whose process is gone: its lease ends with its connection.
   * @throws HostLeaseHeld with {@link LeaseHolder} as data
   */
  host_lease: sets({ host: hostName, holderIsDead: optional(uuid) }, trusted<GrantedLease>()),
  host_release: sets({ host: hostName }, nothing),
  /** Starts to take casts and calls; needs the host's lease unless the caller is unfenced. */
  host_serve: sets({ host: hostName }, nothing),
  host_unserve: sets({ host: hostName }, nothing),
  /** @throws MessagingTimeout, and what the agent answers */
  agent_call: asks(
    {
      host: hostName,
      method: agentMethod,
      params: anyObject,
      // An hour: nobody waits longer, and a timer takes no more than 24 days.
      timeout: integer(1, 3_600_000),
    },
    trusted<unknown>(),
  ),
  /** Stored before it is answered. */
  agent_cast: writes({ host: hostName, method: agentMethod, params: anyObject }, nothing),
};

export type SessionMethods = MethodsOf<typeof SESSION_METHODS>;

export interface Welcome {
  readonly protocol: number;
  /** Milliseconds without a sign of life after which a lease may be given away, and the connection is cut. */
  readonly leaseTtl: number;
  /** Milliseconds between pings that the conductor would like. */
  readonly pingEvery: number;
}

export interface GrantedLease {
  /** Greater than that of every earlier holder of the host; the same when one boot takes its lease back. */
  readonly epoch: number;
}

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
