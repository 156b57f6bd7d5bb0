import { hostName, nullable, oneOf, uuid } from "../../records/field.js";
import { reads, trusted, waits } from "./method.js";
import { HOST_ACTIONS, type HostState } from "./session.js";

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
