import {
  amount,
  anyObject,
  flag,
  hostName,
  id,
  integer,
  listOf,
  name,
  nullable,
  object,
  oneOf,
  optional,
  text,
  uuid,
} from "../../records/field.js";
import type { WireError } from "../wire.js";
import { AGENT_METHODS, type AgentMethod } from "./agent.js";
import { type MethodsOf, nothing, queries, reads, sets, trusted, waits, writes } from "./method.js";

/** States of a host, reported by the process that controls it. */
const HOST_STATES = ["starting", "serving", "stopping", "stopped", "failed", "killed"] as const;

export type HostState = (typeof HOST_STATES)[number];

export const HOST_ACTIONS = ["start", "stop", "kill"] as const;

export type HostAction = (typeof HOST_ACTIONS)[number];

/** Maximum characters of the reason for a host's state. */
export const MAX_DETAIL_LENGTH = 1_000;

/** Maximum hosts of one `hosts_controlled` or `guests_changed`. */
export const MAX_ANNOUNCED_HOSTS = 1_000;

/** Maximum heartbeats of one `hosts_report_state`. */
export const MAX_HEARTBEATS = 500;

const agentMethod = oneOf(Object.keys(AGENT_METHODS) as AgentMethod[]);

/** The wire's session methods: connections, their hosts, and messages between agents. */
export const SESSION_METHODS = {
  /** The first message of a connection. A second connection of the same boot replaces the first. */
  session_hello: sets(
    {
      protocol: amount,
      /** Identifies one run of one agent process. */
      bootId: uuid,
      pid: amount,
      /** Equal for processes that share a PID namespace; see `Processes.machine`. */
      machine: name,
      /** The program's version, for the log. */
      version: name,
    },
    trusted<Welcome>(),
  ),
  /** A keepalive; it renews all leases of the connection. */
  session_ping: sets({}, nothing),
  /**
   * Acquires the lease of a host for the boot in the message (`meta.boot`, or else the connection's), or re-acquires it on a
   * new connection. `holderIsDead`: boot id of an owner on the same machine whose process has ended; its lease ends with its
   * connection. The lease of a boot that ended on the calling connection itself ends at once.
   * @throws HostLeaseHeld with {@link LeaseHolder} as data
   */
  host_lease: sets({ host: hostName, holderIsDead: optional(uuid) }, trusted<GrantedLease>()),
  /**
   * Ends the boot of a host as `kill -9` would, while its process continues: the lease is not released, but no longer
   * renewed, and later messages from that boot are rejected.
   */
  host_killed: sets({ host: hostName }, nothing),
  /**
   * The hosts that this process starts, stops and kills on demand ({@link HOST_CONTROL}); adds to those announced before.
   */
  hosts_controlled: sets(
    {
      hosts: listOf(
        object({
          host: hostName,
          state: oneOf(HOST_STATES),
          /** The reason, for users. */
          detail: text(MAX_DETAIL_LENGTH),
        }),
        MAX_ANNOUNCED_HOSTS,
      ),
    },
    nothing,
  ),
  /** A change among the guests of these hosts. A notification, sent while the conductor has {@link WATCH_GUESTS} enabled. */
  guests_changed: sets({ hosts: listOf(hostName, MAX_ANNOUNCED_HOSTS) }, nothing),
  /**
   * `service_report_state` of several hosts of the connection, each with its own boot. Returns the rejected reports, with
   * the error that each would have got alone; the others are stored.
   */
  hosts_report_state: writes(
    {
      reports: listOf(
        object({ host: hostName, boot: optional(name), unfenced: optional(flag), service: id }),
        MAX_HEARTBEATS,
      ),
    },
    trusted<readonly RejectedReport[]>(),
  ),
  host_release: sets({ host: hostName }, nothing),
  /** Starts to accept casts and calls; needs the host's lease unless the caller is unfenced. */
  host_serve: sets({ host: hostName }, nothing),
  host_unserve: sets({ host: hostName }, nothing),
  /** @throws MessagingTimeout, and the error of the agent */
  agent_call: queries(
    {
      host: hostName,
      method: agentMethod,
      params: anyObject,
      // One hour: no caller waits longer, and timers are limited to 24 days.
      timeout: integer(1, 3_600_000),
    },
    trusted<unknown>(),
  ),
  /** Stored before the response. */
  agent_cast: writes({ host: hostName, method: agentMethod, params: anyObject }, nothing),
};

export type SessionMethods = MethodsOf<typeof SESSION_METHODS>;

export interface Welcome {
  readonly protocol: number;
  /** Milliseconds without a message after which a lease may be given to another agent, and the connection is closed. */
  readonly leaseTtl: number;
  /** Milliseconds between pings, as preferred by the conductor. */
  readonly pingEvery: number;
}

export interface RejectedReport {
  /** Index of the report in the list. */
  readonly at: number;
  readonly error: WireError;
}

export interface GrantedLease {
  /** Greater than that of every earlier owner of the host; equal when one boot re-acquires its lease. */
  readonly epoch: number;
}

/**
 * Request to the process that controls a host: `{host, action}`; returns {@link ControlledHost} when the action is complete.
 */
export const HOST_CONTROL = "host_control";

export interface ControlledHost {
  readonly host: string;
  readonly state: HostState;
  /** The reason, for users; may be empty. */
  readonly detail: string;
}

/** Notification to the agent: it no longer has the lease of `host`. */
export const LEASE_LOST = "lease_lost";

/** Notification to the agent, `{watched}`: whether the hosts' guests are being watched. Initially they are not. */
export const WATCH_GUESTS = "watch_guests";

/** Data of {@link HostLeaseHeld}. */
export interface LeaseHolder {
  readonly host: string;
  readonly bootId: string;
  readonly pid: number;
  readonly machine: string;
  /** Milliseconds since the last message of the owner. */
  readonly seenAgo: number;
  /** Whether the owner's connection is alive. */
  readonly connected: boolean;
  /** Milliseconds until the lease expires unless its owner reconnects; null while it is connected. */
  readonly freeIn: number | null;
}

/** Methods of `compute-agent host`: the processes that run the hosts, and their control. */
export const HOST_METHODS = {
  /** Returns every host with an agent, a compute service or an entry in `compute-agent up`; with `host`: only that one. */
  list_hosts: waits({ host: nullable(hostName) }, trusted<HostRow[]>()),
  /**
   * Returns the hosts that have a serving agent, and on which nothing would be scheduled until they have sent a heartbeat.
   * Excludes hosts that are disabled or forced down, which a heartbeat does not change.
   */
  hosts_to_report: reads({}, trusted<string[]>()),
  /**
   * Starts, stops or kills the agent of a host; responds when the host is in its new state. An agent that is already in that
   * state is left as it is.
   * @throws ComputeHostNotFound no controlling process has the host
   * @throws ConductorError
   */
  control_host: waits({ host: hostName, action: oneOf(HOST_ACTIONS) }, trusted<HostProcess>()),
  /**
   * Starts the hosts of an addition, a file that an operator has put into the state directory: only users with access to
   * that directory can have a driver loaded. Returns the hosts after their agents were started.
   */
  add_hosts: waits({ addition: uuid }, trusted<string[]>()),
  /** Removes a host whose agent has ended. Returns false if the host was not known here. */
  forget_host: waits({ host: hostName }, trusted<boolean>()),
};

/** `waiting`: for a control plane; `restarting`: it failed, and is restarted soon. */
export type AgentState = HostState | "waiting" | "restarting";

/** The agent of one host. */
export interface HostProcess {
  readonly host: string;
  readonly state: AgentState;
  readonly pid: number | null;
  /**
   * `own`: a process for this host only; `elsewhere`: one that `up` did not start; else the name of a pool. Null if there is
   * none.
   */
  readonly process: string | null;
  /** The driver passed to `up`; null for the configured one. */
  readonly driver: string | null;
  /** Time of the last state change, milliseconds since the epoch; null if unknown. */
  readonly since: number | null;
  /** Explanation of the state, for users. */
  readonly reason: string;
  /** The exit code of an agent that ended by itself. */
  readonly exitCode: number | null;
  /** Absolute path of the agent's log file; null if unknown. */
  readonly log: string | null;
}

/** A host, as the cluster knows it. */
export interface HostRow extends HostProcess {
  /** Number of servers on the host in the state of record. */
  readonly servers: number;
  /** Its compute service; null if there is none. */
  readonly service: {
    readonly enabled: boolean;
    readonly forcedDown: boolean;
    readonly disabledReason: string | null;
  } | null;
}
