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

/** What a process that can control a host has made of it. */
const HOST_STATES = ["starting", "serving", "stopping", "stopped", "failed", "killed"] as const;

export type HostState = (typeof HOST_STATES)[number];

export const HOST_ACTIONS = ["start", "stop", "kill"] as const;

export type HostAction = (typeof HOST_ACTIONS)[number];

/** Characters of the reason for a host's state. */
export const MAX_DETAIL_LENGTH = 1_000;

/** Hosts that one `hosts_controlled`, or one `guests_changed`, may name. */
export const MAX_ANNOUNCED_HOSTS = 1_000;

/** Heartbeats of one `hosts_report_state`. */
export const MAX_HEARTBEATS = 500;

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
   * Takes the lease of a host for the boot that the message names (`meta.boot`, or else the connection's), or takes it back on
   * a new connection. `holderIsDead`: boot id of a holder on the same machine whose process is gone: its lease ends with its
   * connection. Of a boot that lived on the very connection that asks, its lease ends at once.
   * @throws HostLeaseHeld with {@link LeaseHolder} as data
   */
  host_lease: sets({ host: hostName, holderIsDead: optional(uuid) }, trusted<GrantedLease>()),
  /**
   * The boot of a host ended as by `kill -9`, though its process lives: the lease is not given back, but nobody renews it, and
   * what else comes from that boot is refused.
   */
  host_killed: sets({ host: hostName }, nothing),
  /** The hosts that this process starts, stops and kills on demand ({@link HOST_CONTROL}); those named before stay. */
  hosts_controlled: sets(
    {
      hosts: listOf(
        object({
          host: hostName,
          state: oneOf(HOST_STATES),
          /** Why, for a person. */
          detail: text(MAX_DETAIL_LENGTH),
        }),
        MAX_ANNOUNCED_HOSTS,
      ),
    },
    nothing,
  ),
  /** Something has changed among the guests of these hosts. A notification, sent while the conductor has {@link WATCH_GUESTS} on. */
  guests_changed: sets({ hosts: listOf(hostName, MAX_ANNOUNCED_HOSTS) }, nothing),
  /**
   * `service_report_state` of several hosts of the connection, each in the name of its own boot. Answers those that were refused,
   * each as it would have been alone; the others are stored.
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
  /** Starts to take casts and calls; needs the host's lease unless the caller is unfenced. */
  host_serve: sets({ host: hostName }, nothing),
  host_unserve: sets({ host: hostName }, nothing),
  /** @throws MessagingTimeout, and what the agent answers */
  agent_call: queries(
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

export interface RejectedReport {
  /** Its place in the list. */
  readonly at: number;
  readonly error: WireError;
}

export interface GrantedLease {
  /** Greater than that of every earlier holder of the host; the same when one boot takes its lease back. */
  readonly epoch: number;
}

/** Asked of the process that controls a host: `{host, action}`; answers {@link ControlledHost} when the action is done. */
export const HOST_CONTROL = "host_control";

export interface ControlledHost {
  readonly host: string;
  readonly state: HostState;
  /** Why, for a person; "" where there is nothing to say. */
  readonly detail: string;
}

/** Sent to the agent as a notification: it holds the lease of `host` no longer. */
export const LEASE_LOST = "lease_lost";

/** Sent to the agent as a notification, `{watched}`: whether somebody looks at the hosts' guests. Until it comes nobody does. */
export const WATCH_GUESTS = "watch_guests";

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

/** What `compute-cluster host` asks: the processes behind the hosts, and what is to become of them. */
export const HOST_METHODS = {
  /** Every host that has an agent, a compute service or a place in `compute-cluster up`; with `host`: that one alone. */
  list_hosts: waits({ host: nullable(hostName) }, trusted<HostRow[]>()),
  /**
   * Hosts whose agents serve, and to which nothing would be scheduled until these have sent a heartbeat. Hosts that are disabled or
   * forced down are left out: no heartbeat changes that.
   */
  hosts_to_report: reads({}, trusted<string[]>()),
  /**
   * Starts, stops or kills the agent of a host, and answers when the host is in its new state. An agent that is there already is
   * left as it is. @throws ComputeHostNotFound nothing that can be told to knows the host. @throws ConductorError
   */
  control_host: waits({ host: hostName, action: oneOf(HOST_ACTIONS) }, trusted<HostProcess>()),
  /**
   * Starts the hosts of an addition, a file that an operator has put into the state directory: nobody can have a driver loaded
   * who has no access to that. Answers with the hosts once their agents have been started.
   */
  add_hosts: waits({ addition: uuid }, trusted<string[]>()),
  /** Forgets a host whose agent has ended. False: nothing here kept it. */
  forget_host: waits({ host: hostName }, trusted<boolean>()),
};

/** `waiting`: for a control plane; `restarting`: it failed, and starts again soon. */
export type AgentState = HostState | "waiting" | "restarting";

/** The agent of one host. */
export interface HostProcess {
  readonly host: string;
  readonly state: AgentState;
  readonly pid: number | null;
  /** `own`: a process for this host alone; `elsewhere`: one that `up` did not start; else the name of a pool. Null: there is none. */
  readonly process: string | null;
  /** As it was given to `up`; null: what the configuration says. */
  readonly driver: string | null;
  /** When it came into its state, milliseconds since the epoch; null: not known. */
  readonly since: number | null;
  /** What a person wants to read beside the state. */
  readonly reason: string;
  /** The exit code of an agent that has ended by itself. */
  readonly exitCode: number | null;
  /** Absolute path of the file that its log is in; null: not known. */
  readonly log: string | null;
}

/** A host as the cluster knows it. */
export interface HostRow extends HostProcess {
  /** Servers that the state of record puts there. */
  readonly servers: number;
  /** Its compute service; null: there is none. */
  readonly service: {
    readonly enabled: boolean;
    readonly forcedDown: boolean;
    readonly disabledReason: string | null;
  } | null;
}
