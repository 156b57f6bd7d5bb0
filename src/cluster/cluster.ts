/**
 * Options for starting a cluster from a test.
 *
 * @example
 * ```ts
 * const cloud = await startCluster({ hosts: 2, config: { DEFAULT: { resize_confirm_window: 60 } }, time: "virtual" });
 * ```
 */
export interface StartClusterOptions {
  /**
   * The number of hosts, named `devstack1` and so on. Default: the hosts of the existing cluster in `stateDir`, 3 for a
   * new one, or those of `file`.
   */
  readonly hosts?: number;
  /** Path of a cluster file (docs/how-to/cluster-file.md): hosts in groups, flavors, images, users, faults. */
  readonly file?: string;
  /** Options of nova.conf, by section, for agents and control plane: `{ DEFAULT: { resize_confirm_window: 60 } }`. */
  readonly config?: Readonly<Record<string, Readonly<Record<string, string | number | boolean>>>>;
  /** Port of the control plane on 127.0.0.1. Default 0: any free one. */
  readonly port?: number;
  /**
   * Whether control plane and agents run within this process. Otherwise they are separate processes, as
   * `compute-agent up` starts them. Those use real time and real randomness, log to files, and show their requests in
   * `compute-agent logs`. Default true.
   */
  readonly inProcess?: boolean;
  /**
   * The same seed gives the same names, ids and random choices, as long as the order of events is the same. Default:
   * different ones each time.
   */
  readonly seed?: number | string;
  /**
   * `virtual`: the cluster's time passes only in {@link Cluster.advance} and as far as a method of the cluster has to
   * wait. Default `real`.
   */
  readonly time?: "real" | "virtual";
  /**
   * With virtual time: lets it pass continuously. While an operation is in progress, time advances to the next event as
   * soon as nothing else is left to do; otherwise by ten minutes a second. Default false.
   */
  readonly autoAdvance?: boolean;
  /**
   * A folder that outlives the cluster: another start with it continues from there, and `compute-agent --state-dir`
   * can read it. Default: a temporary one, which {@link Cluster.stop} deletes.
   */
  readonly stateDir?: string;
  /** Called with the log lines of control plane and agents from `warn` on. Default: they are dropped. */
  readonly onLog?: (line: LogLine) => void;
}

/** A log line of the control plane or an agent. */
export interface LogLine {
  readonly level: "warn" | "error" | "fatal";
  readonly message: string;
  /** `host`, `instance`, `request_id` and others. */
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The state of a host: `killed` after `kill -9`, `failed` when its agent rejected the start or gave up. */
export type HostState = "starting" | "serving" | "stopping" | "stopped" | "failed" | "killed";

/** Controls the agents of one or several hosts. Guests outlive them. */
export interface HostControl {
  /**
   * Returns the state of a single host.
   * @throws {Error} when these are several hosts
   */
  state(): Promise<HostState>;
  /**
   * Starts the hosts that are not serving.
   * @throws {Error} when a host cannot start, with the reason
   */
  start(): Promise<void>;
  /** Stops the hosts as SIGTERM does: drains them and releases their leases. */
  stop(): Promise<void>;
  /** Kills the hosts as `kill -9` does, at any point of their work. */
  kill(): Promise<void>;
}

/** Faults, as `compute-agent fault` sets them (docs/how-to/inject-faults.md). */
export interface Faults {
  /**
   * Sets faults. Resolves when the host's agent has read them, immediately if it does not run.
   * @param host a host name, or `ironic` for the embedded Ironic
   * @param faultRules such as `driver.spawn=fail:once`
   * @throws {Error} for an invalid rule, with a list of the valid ones
   */
  set(host: string, ...faultRules: readonly string[]): Promise<void>;
  /**
   * Clears faults.
   * @param points such as `driver.spawn`. Default: all faults of the host.
   */
  clear(host: string, ...points: readonly string[]): Promise<void>;
  /** Returns the fault rules that are set. */
  list(host: string): Promise<readonly string[]>;
}

/** A request from a client, an agent or the scheduler that an API has handled, without bodies and tokens. */
export interface ObservedRequest {
  /** `compute`, `placement`, `identity`, `image`, `network` or `baremetal`; empty if no service matches. */
  readonly service: string;
  readonly method: string;
  /** Below the service's endpoint, without the query: `/v2.1/servers`. */
  readonly path: string;
  /** Without `?`; secret values are replaced by `****`. */
  readonly query: string;
  readonly status: number;
  /** The name of the token's user; undefined without a valid token. */
  readonly user: string | undefined;
  /** `req-<uuid>` from the response. */
  readonly requestId: string | undefined;
}

/** An accounting error (docs/how-to/audit-and-repair.md). */
export interface AuditFinding {
  readonly code: string;
  readonly subject: { readonly kind: string; readonly uuid: string; readonly name: string };
  /** One or two sentences for operators. */
  readonly explanation: string;
}

/**
 * The administrator's credentials, for clients that take them as parameters. They are the cloud `devstack` of
 * {@link Cluster.cloudsYaml}.
 */
export interface CloudCredentials {
  /** The endpoint of Identity v3: `http://127.0.0.1:<port>/identity/v3`. */
  readonly authUrl: string;
  readonly username: string;
  readonly password: string;
  /** `default`: the id of the user's domain. */
  readonly userDomainId: string;
  readonly projectName: string;
  /** `default`: the id of the project's domain. */
  readonly projectDomainId: string;
  /** `RegionOne`. */
  readonly region: string;
  /**
   * The same as environment variables: `OS_AUTH_URL`, `OS_USERNAME`, `OS_PASSWORD`, `OS_PROJECT_NAME` and others. Unset
   * `OS_CLOUD` where you use them: clients prefer the cloud that it names.
   */
  readonly env: Readonly<Record<string, string>>;
}

/** Options for returning to a saved state. */
export interface RestoreStateOptions {
  /** Whether to start hosts that were killed or stopped in the saved state. Default false: they remain down. */
  readonly startHosts?: boolean;
}

/** A running cluster. Several clusters can run in one process. */
export interface Cluster {
  /** `http://127.0.0.1:<port>`: Identity is at `/identity/v3`, the other services are in its catalog. */
  readonly url: string;
  /** Environment variables for OpenStack clients, with the administrator's credentials. */
  readonly env: Readonly<Record<string, string>>;
  /** The text of `clouds.yaml`: clouds `devstack` (administrator), `devstack-demo` and `devstack-system-admin`. */
  readonly cloudsYaml: string;
  /**
   * The administrator's credentials.
   * @throws {Error} when the cluster does not run
   */
  readonly credentials: CloudCredentials;
  /**
   * Returns a token of the administrator, scoped to the project `admin`, for the header `X-Auth-Token`. It is reused
   * until shortly before it expires, in the cluster's time.
   * @throws {Error} when Identity issues no token, with its response, or does not respond
   */
  token(): Promise<string>;
  /**
   * Sends a request of the administrator to a service, as the global `fetch` does. The token is added, and renewed once
   * if the service rejects it; a header `X-Auth-Token` of `init` is sent unchanged instead. A string as body is JSON
   * unless `init` has a `Content-Type`.
   *
   * @example
   * ```ts
   * const response = await cloud.fetch("compute", "/servers/detail", {
   *   headers: { "OpenStack-API-Version": "compute 2.96" },
   * });
   * const { servers } = await response.json();
   * ```
   *
   * @param service the type of a service in the catalog, or its project's name: `compute` or `nova`, `placement`,
   * `identity` or `keystone`, `image` or `glance`, `network` or `neutron`, `baremetal` or `ironic`
   * @param path below the service's endpoint, with or without a leading slash: `/servers?limit=1`. A path that begins
   * with the endpoint's path or version (`/compute/v2.1/servers`, `/v2.1/servers`) and an absolute URL of the service, as
   * in links of responses, are used as they are.
   * @returns the response, whatever its status
   * @throws {Error} when the catalog has no such service, with a list of those it has; when a URL belongs to another
   * server; when the service does not respond
   */
  fetch(service: string, path: string, init?: RequestInit): Promise<Response>;
  readonly stateDir: string;
  /** The names of all hosts. */
  readonly hostNames: readonly string[];
  /**
   * Returns the controls of some hosts.
   * @param names one or several hosts, as `devstack1` or `devstack[1-3]`. Default: all.
   * @throws {Error} when a host does not exist
   */
  hosts(names?: string): HostControl;
  readonly faults: Faults;
  /**
   * The last 10,000 requests, oldest first. Emptied by {@link clearRequests}.
   * @throws {Error} when the cluster runs in separate processes
   */
  readonly requests: readonly ObservedRequest[];
  clearRequests(): void;
  /**
   * Resolves when the cluster is idle: no operation on a server, no task, no message to an agent and no periodic task
   * is in progress. Virtual time advances as far as necessary.
   * @param options.timeout seconds of the cluster's time. Default 600.
   * @throws {Error} after the timeout, with the remaining work
   */
  settled(options?: { readonly timeout?: number }): Promise<void>;
  /** Returns the accounting errors, without changing anything. */
  audit(): Promise<readonly AuditFinding[]>;
  /** The cluster's time of day, in milliseconds since the epoch. */
  readonly now: number;
  /**
   * Lets virtual time pass and runs everything due in it.
   * @throws {Error} when the cluster uses real time
   */
  advance(seconds: number): Promise<void>;
  /**
   * Returns to the state after the start within a tenth of a second: servers, users, faults and hosts are as they were
   * then, even if operations are in progress. URL and tokens stay valid. Resolves when servers can be scheduled to the
   * serving hosts.
   */
  reset(options?: RestoreStateOptions): Promise<void>;
  /**
   * Saves the current state under a name, even while operations are in progress (docs/how-to/snapshot-and-reset.md). The
   * state includes which hosts are killed or stopped.
   * @throws {Error} when a host's driver stores its state elsewhere
   */
  snapshot(name: string): Promise<void>;
  /**
   * Returns to a saved state, as {@link reset} does.
   * @throws {Error} when the state does not exist or cannot be used
   */
  restore(name: string, options?: RestoreStateOptions): Promise<void>;
  /** Stops the cluster and deletes a temporary state directory. May be called several times. */
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
