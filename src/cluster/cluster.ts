/**
 * What a test starts a cluster with.
 *
 * @example
 * ```ts
 * const cloud = await startCluster({ hosts: 2, config: { DEFAULT: { resize_confirm_window: 60 } }, time: "virtual" });
 * ```
 */
export interface StartClusterOptions {
  /** How many hosts, named `devstack1` and so on. Default: those of the cluster of `stateDir`, 3 for a new one; none when `file` says which. */
  readonly hosts?: number;
  /** Path of a cluster file (docs/cluster-file.md): hosts in groups, flavors, images, users, faults. */
  readonly file?: string;
  /** Options of nova.conf, by section, for agents and control plane: `{ DEFAULT: { resize_confirm_window: 60 } }`. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;
  /** Port of the control plane on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /**
   * False: the control plane and the agents are processes of their own, as `compute-cluster up` starts them; they go by real time and
   * their own randomness, log to files, and their requests are told by `compute-cluster logs`. Default true.
   */
  readonly inProcess?: boolean;
  /** Names, ids and draws are the same for the same seed, as far as the order of events is. Default: other ones each time. */
  readonly seed?: number | string;
  /**
   * `virtual`: the time of the cluster stands until {@link Cluster.advance} moves it, or what a method here waits for needs it.
   * Default `real`.
   */
  readonly time?: "real" | "virtual";
  /**
   * With virtual time: it moves by itself. While something is under way, to the next moment at which something is due, as soon as
   * nothing else is to be done; otherwise ten minutes a second. Default false.
   */
  readonly autoAdvance?: boolean;
  /**
   * A folder that outlives the cluster: another start with it goes on from there, `compute-cluster --state-dir` looks at it.
   * Default: a temporary one, which {@link Cluster.stop} deletes.
   */
  readonly stateDir?: string;
  /** Hears of what control plane and agents log from `warn` on. Default: nobody. */
  readonly onLog?: (line: LogLine) => void;
}

/** Something that the control plane or an agent logged. */
export interface LogLine {
  readonly level: "warn" | "error" | "fatal";
  readonly message: string;
  /** `host`, `instance`, `request_id` and others. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** How a host stands: `killed` is after `kill -9`, `failed` when its agent refused to start or gave up. */
export type HostState = "starting" | "serving" | "stopping" | "stopped" | "failed" | "killed";

/** The agents of one host, or of several. Guests outlive them. */
export interface HostControl {
  /** How a single host stands. @throws {Error} these are several */
  state(): Promise<HostState>;
  /** Starts those that do not serve. @throws {Error} one does not get to serve, with its reason */
  start(): Promise<void>;
  /** As SIGTERM: drains, and gives the host back. */
  stop(): Promise<void>;
  /** As `kill -9`, at any moment of whatever they do. */
  kill(): Promise<void>;
}

/** Faults, as `compute-cluster fault` sets them (docs/faults.md). */
export interface Faults {
  /**
   * Resolves when the host's agent knows them, or at once while there is none.
   * @param host its name, or `ironic` for the embedded Ironic
   * @param faultRules such as `driver.spawn=fail:once` @throws {Error} for one that does not exist, with those that do
   */
  set(host: string, ...faultRules: readonly string[]): Promise<void>;
  /** @param points such as `driver.spawn`. Default: all of the host. */
  clear(host: string, ...points: readonly string[]): Promise<void>;
  /** The knobs that are set. */
  list(host: string): Promise<readonly string[]>;
}

/** A request that one of the APIs has answered, to a client, an agent, or the scheduler. Neither bodies nor tokens are kept. */
export interface ObservedRequest {
  /** `compute`, `placement`, `identity`, `image`, `network` or `baremetal`; "": no service takes it. */
  readonly service: string;
  readonly method: string;
  /** Below the service's endpoint, without the query: `/v2.1/servers`. */
  readonly path: string;
  /** Without `?`; values of what is secret are `****`. */
  readonly query: string;
  readonly status: number;
  /** Name of the user whose token it was; undefined: none, or one that is not valid. */
  readonly user: string | undefined;
  /** `req-<uuid>`, as the answer says it. */
  readonly requestId: string | undefined;
}

/** Something that is accounted wrong (docs/audit.md). */
export interface AuditFinding {
  readonly code: string;
  readonly subject: { readonly kind: string; readonly uuid: string; readonly name: string };
  /** One or two sentences for an operator. */
  readonly explanation: string;
}

/** How a cluster goes back to a state. */
export interface RestoreStateOptions {
  /** Starts hosts, too, that were killed or stopped when the state was saved. Default false: they are down again. */
  readonly startHosts?: boolean;
}

/** A cluster that runs. Several live beside each other in one process. */
export interface Cluster {
  /** `http://127.0.0.1:<port>`: Identity is at `/identity/v3`, the others are in its catalog. */
  readonly url: string;
  /** Environment variables with which OpenStack's clients use it as its administrator. */
  readonly env: Readonly<Record<string, string>>;
  /** The text of `clouds.yaml`: clouds `devstack` (administrator), `devstack-demo` and `devstack-system-admin`. */
  readonly cloudsYaml: string;
  readonly stateDir: string;
  /** All there are. */
  readonly hostNames: readonly string[];
  /** @param names one, or several, as `devstack1` or `devstack[1-3]`. Default: all. @throws {Error} there is no such host */
  hosts(names?: string): HostControl;
  readonly faults: Faults;
  /** The last 10,000, oldest first. Emptied by {@link clearRequests}. @throws {Error} the cluster is processes of its own */
  readonly requests: readonly ObservedRequest[];
  clearRequests(): void;
  /**
   * Resolves when nothing is being done to any server, no task is under way, no agent has a message to take and no periodic pass
   * runs. Virtual time moves as far as that needs.
   * @param options.timeout seconds of the cluster's time. Default 600. @throws {Error} it did not come to rest, with what is left
   */
  settled(options?: { readonly timeout?: number }): Promise<void>;
  /** What is accounted wrong; empty: nothing. Changes nothing. */
  audit(): Promise<readonly AuditFinding[]>;
  /** The cluster's time of day, in milliseconds since the epoch. */
  readonly now: number;
  /**
   * Lets virtual time pass, with everything that is due in it.
   * @throws {Error} the cluster goes by real time
   */
  advance(seconds: number): Promise<void>;
  /**
   * Goes back to the state after the start, in a tenth of a second: servers, people, faults and hosts are as they were then, whatever
   * is under way. Address and tokens stay valid. Resolves when servers can be scheduled to the hosts that serve.
   */
  reset(options?: RestoreStateOptions): Promise<void>;
  /**
   * Saves the state as it is now, also while something is under way, under a name (docs/testing.md). Which hosts are killed or stopped
   * is part of it.
   * @throws {Error} a host's driver keeps its state elsewhere
   */
  snapshot(name: string): Promise<void>;
  /** Goes back to a saved state, as {@link reset} does. @throws {Error} there is none of this name, or none that can be used */
  restore(name: string, options?: RestoreStateOptions): Promise<void>;
  /** Ends all of it, and deletes a temporary state directory. May be called again. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
