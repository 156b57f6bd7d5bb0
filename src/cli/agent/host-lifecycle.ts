import type { AgentState } from "../../agent/context.js";
import { Agent, type AgentOptions } from "../../agent/lifecycle/agent.js";
import { type AgentMetrics, NO_METRICS } from "../../agent/metrics/metrics.js";
import { createMetricsRegistry, serveMetrics } from "../../agent/metrics/metrics-registry.js";
import { type ControlledHost, MAX_DETAIL_LENGTH } from "../../conductor-client/methods/session.js";
import type { ConductorConnection, HostSession, KillableSession } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { FaultFile } from "../../faults/fault-file.js";
import { createFaultyRuntime } from "../../faults/fault-injection.js";
import { SharedPlacementState } from "../../placement-client/client-context.js";
import { createKillableRuntime } from "../../runtime/killable-runtime.js";
import { Lifetime } from "../../runtime/lifetime.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import { within } from "../../runtime/time.js";
import { fieldsOf, type UnhandledError } from "../../virt/containment.js";
import type { DriverContext } from "../../virt/context.js";
import { textOf } from "../../virt/driver-error.js";
import { VirtDriverCrashed } from "../../virt/errors.js";
import { openFaults } from "./agent-faults.js";
import { reportClient } from "./connect.js";
import { traceDriver } from "./driver-trace.js";
import { type AgentHostStatus, type HostRun, Hosts, type HostsOptions } from "./hosts.js";
import type { LoadedConfig, LoadedHosts } from "./load-config.js";

/** The metrics of a process, as `--metrics-port` requests them. */
export interface MetricsOutlet {
  /** Returns metrics whose samples have this `host` label; "" for what the hosts of a process share, without the label. */
  forHost(host: string): AgentMetrics;
  /** The address of the metrics; null if they are not served. */
  readonly url: string | null;
  /** Exports the state of this connection from now on. */
  watchConnection(connection: ConductorConnection): void;
  /** Exports from now on whether the session has the host's lease. */
  watchHost(session: HostSession): void;
  close(): Promise<void>;
}

const NO_OUTLET: MetricsOutlet = {
  forHost: () => NO_METRICS,
  url: null,
  watchConnection: () => undefined,
  watchHost: () => undefined,
  close: async () => undefined,
};

/** One run of a host, as the recipient of its driver's unhandled errors. */
interface DriverErrorOwner {
  readonly metrics: AgentMetrics;
  readonly alive: () => boolean;
  readonly giveUp: (reason: Error) => void;
}

/** Assigns each unhandled driver error to the host whose driver caused it. */
export class UnhandledDriverErrors {
  readonly #logger: Logger;
  /** Called with fatal errors that belong to no host. */
  readonly #ownerless: (reason: Error) => void;
  readonly #owners = new WeakMap<DriverContext, DriverErrorOwner>();

  constructor(logger: Logger, ownerless: (reason: Error) => void) {
    this.#logger = logger;
    this.#ownerless = ownerless;
  }

  /** Registers the owner of a driver's context; errors within it belong to that host. */
  own(context: DriverContext, owner: DriverErrorOwner): void {
    this.#owners.set(context, owner);
  }

  take(unhandledError: UnhandledError): void {
    const { call, kind } = unhandledError;
    const owner = call.context === undefined ? undefined : this.#owners.get(call.context);
    if (owner?.alive() === false) {
      this.#logger.debug("driver error after its host was killed; ignored", {
        ...fieldsOf(call),
        err: unhandledError.error,
      });
      return;
    }
    owner?.metrics.driverUnhandledError(call.method, kind);
    this.#report(unhandledError, owner);
    if (kind === "exception") {
      (owner?.giveUp ?? this.#ownerless)(crashOf(unhandledError));
    }
  }

  #report({ call, kind, error, failsCall }: UnhandledError, owner: DriverErrorOwner | undefined): void {
    const what =
      kind === "rejection"
        ? `${call.method} left an unhandled promise rejection`
        : `a callback of ${call.method} threw, and nothing could catch it; ${owner === undefined ? "its host is unknown" : "the host is stopped"}`;
    const effect = failsCall ? "the call fails" : "none of its calls is pending";
    const fields = { ...fieldsOf(call), err: error instanceof Error ? error : new Error(textOf(error)) };
    const text = `driver ${call.driver}: ${what}; ${effect}`;
    if (kind === "rejection") {
      this.#logger.error(text, fields);
    } else {
      this.#logger.fatal(text, fields);
    }
  }
}

/** Warns about `conductor` faults, which have no effect: all hosts of the process share the connection. */
function warnOfPartitions({ faults }: FaultFile, { logger }: Runtime): void {
  const warn = () => {
    if (faults.peek("conductor") !== undefined) {
      logger.warn("the fault at point conductor has no effect on a host that shares its connection with others");
    }
  };
  faults.onChange(warn);
  warn();
}

/** The parts that all hosts of a process share. */
export interface SharedParts {
  readonly runtime: Runtime;
  readonly connection: ConductorConnection;
  readonly outlet: MetricsOutlet;
  readonly unhandledErrors: UnhandledDriverErrors;
  readonly traceDriver: boolean;
  /** The service version that agents report; undefined: the version of this build. */
  readonly serviceVersion: number | undefined;
}

/** By `[placement]`, which is the same object for all hosts with equal sections. */
type PlacementStates = WeakMap<NovaConfig["placement"], SharedPlacementState>;

/** Observes one run of a host. */
interface RunObserver {
  /** Default: the logger of the process. */
  readonly logger?: Logger;
  readonly onServing?: () => void;
  readonly onProgress?: (state: AgentState) => void;
}

export interface AgentHostsOptions extends Pick<HostsOptions, "timers" | "starting" | "killProcess"> {
  /** Called at each change. @param announce reports the state to the control plane */
  readonly onState?: (status: AgentHostStatus, announce: () => void) => void;
  readonly observe?: (host: string) => RunObserver;
  /** Opened and closed by the caller; default: each host opens its own. */
  readonly faultFile?: FaultFile | null;
}

/** Creates the hosts of an agent process, which the control plane can start, stop and kill. */
export function createAgentHosts(
  loaded: Pick<LoadedHosts, "of">,
  shared: SharedParts,
  {
    onState = (_status, announce) => announce(),
    observe = () => ({}),
    faultFile = null,
    ...options
  }: AgentHostsOptions,
): Hosts {
  const placements: PlacementStates = new WeakMap();
  let notify: (host: ControlledHost) => void = () => {};
  const hosts = new Hosts({
    ...options,
    createRun: (host, onServing) => {
      const observer = observe(host);
      const { logger } = observer;
      const runtime = logger === undefined ? shared.runtime : { ...shared.runtime, logger };
      const served = () => {
        observer.onServing?.();
        onServing();
      };
      return new AgentRun(loaded.of(host), { ...shared, runtime }, placements, faultFile, {
        ...observer,
        onServing: served,
      });
    },
    onState: (status) => {
      const { host, state, detail } = status;
      onState(status, () => notify({ host, state, detail: detail.slice(0, MAX_DETAIL_LENGTH) }));
    },
  });
  notify = shared.connection.offerControl?.(hosts) ?? notify;
  return hosts;
}

/** Timeout in milliseconds for the pending writes of a killed host. */
const QUIET_WITHIN = 30_000;

/** One run of one host's agent in a process of many, with all resources that end with it. */
class AgentRun implements HostRun {
  readonly host: string;
  readonly #lifetime = new Lifetime();
  readonly #shared: SharedParts;
  readonly #placements: PlacementStates;
  /** Without the origins of the options, which take more memory than the options. */
  readonly #options: Pick<AgentOptions, "config" | "driver" | "driverConfig" | "configFiles" | "changeDriver">;
  readonly #runtime: Runtime;
  readonly #metrics: AgentMetrics;
  readonly #observer: RunObserver;
  #faultFile: FaultFile | null;
  #agent: Agent | undefined;
  #session: KillableSession | undefined;
  /** The reason to end, if it comes before the agent is created. */
  #broken: Error | undefined;
  #stopping = false;

  constructor(
    loaded: LoadedConfig,
    shared: SharedParts,
    placements: PlacementStates,
    faultFile: FaultFile | null,
    observer: RunObserver,
  ) {
    this.#observer = observer;
    this.#placements = placements;
    this.#faultFile = faultFile;
    const { compiled, driver, driverConfig, configFiles, changeDriver } = loaded;
    this.host = compiled.config.defaults.host;
    this.#options = { config: compiled.config, driver, driverConfig, configFiles, changeDriver };
    this.#shared = shared;
    this.#runtime = createKillableRuntime(shared.runtime, this.#lifetime);
    this.#metrics = shared.outlet.forHost(this.host);
  }

  /**
   * Runs the host from start-up to its end. Resolves after a requested stop. Rejects with the reason if the host did not
   * start or could not continue. Never settles after {@link kill}.
   */
  async run(): Promise<void> {
    try {
      // Only two steps: each pending async call stays in memory as long as the host serves, and a process may have thousands
      // of hosts.
      const agent = await this.#lifetime.whileAlive(() => this.#start());
      await ended(agent);
      await this.#lifetime.whileAlive(() => this.#close());
      if (agent.failure !== null) {
        throw agent.failure;
      }
    } finally {
      // Cut off what did not end in time, as the end of a process would.
      this.#lifetime.kill();
    }
  }

  /** Starts the agent, and resolves once it serves. */
  async #start(): Promise<Agent> {
    const { config } = this.#options;
    const isOwn = this.#faultFile === null;
    const faultFile = this.#faultFile ?? (await openFaults(config.defaults.statePath, this.#runtime));
    this.#faultFile = faultFile;
    try {
      const faultRuntime = createFaultyRuntime(this.#runtime, faultFile.faults);
      if (isOwn) {
        warnOfPartitions(faultFile, this.#runtime);
      }
      const metrics = this.#shared.traceDriver
        ? await traceDriver(this.#metrics, config.defaults.statePath, faultRuntime)
        : this.#metrics;
      const agent = this.#makeAgent(faultRuntime, metrics, faultFile.faults);
      this.#agent = agent;
      agent.onState((state) => this.#entered(state));
      if (this.#broken !== undefined) {
        void agent.giveUp(this.#broken);
      } else if (this.#stopping) {
        void agent.stop();
      }
      await agent.start();
      return agent;
    } catch (error) {
      await this.#close();
      throw error;
    }
  }

  #entered(state: AgentState): void {
    if (state === "serving" && this.#lifetime.alive) {
      this.#observer.onServing?.();
    }
    this.#observer.onProgress?.(state);
  }

  async #close(): Promise<void> {
    try {
      await this.#session?.close();
    } finally {
      await this.#faultFile?.close();
    }
  }

  /** Drains the host, as SIGTERM does. The promise of {@link run} settles at the end. */
  stop(): void {
    this.#stopping = true;
    void this.#agent?.stop();
  }

  /** Cuts off the host at once, as SIGKILL does. Resolves when the conductor knows and pending writes are done. */
  async kill(): Promise<void> {
    this.#lifetime.kill();
    const { timers } = this.#shared.runtime;
    await this.#session?.kill();
    await within(timers, QUIET_WITHIN, `what host ${this.host} had begun to write`, this.#lifetime.quiet());
  }

  /** Ends the host because its driver is no longer reliable. */
  giveUp(reason: Error): void {
    this.#broken ??= reason;
    void this.#agent?.giveUp(reason);
  }

  /** Handles SIGHUP. */
  reset(): void {
    this.#agent?.reset();
  }

  #makeAgent(runtime: Runtime, metrics: AgentMetrics, faults: Parameters<typeof createFaultyRuntime>[1]): Agent {
    const { connection, outlet, unhandledErrors, serviceVersion } = this.#shared;
    const { config, driver } = this.#options;
    const known = this.#placements.get(config.placement) ?? new SharedPlacementState();
    this.#placements.set(config.placement, known);
    const session = connection.host(this.host, { lease: !config.workarounds.upstreamQuirks.has("no-host-lease") });
    this.#session = session;
    outlet.watchHost(session);
    const create = (context: DriverContext) => {
      unhandledErrors.own(context, {
        metrics,
        alive: () => this.#lifetime.alive,
        giveUp: (reason) => this.giveUp(reason),
      });
      return driver.create(context);
    };
    return new Agent({
      host: this.host,
      runtime,
      session,
      placement: reportClient(config, runtime, session, metrics, known),
      sharedImages: known.images,
      sharedVolumes: known.volumes,
      metrics,
      faults,
      ...this.#options,
      driver: { ...driver, create },
      ...(serviceVersion === undefined ? {} : { serviceVersion }),
    });
  }
}

/** Resolves when the agent has ended, on request or not. */
function ended(agent: Agent): Promise<void> {
  return new Promise((resolve) => {
    const look = (state: AgentState) => {
      if (state === "stopped" || state === "failed") {
        resolve();
      }
    };
    agent.onState(look);
    look(agent.state);
  });
}

/** Returns the failure of an agent whose driver threw an unhandled error. */
function crashOf({ call, error }: UnhandledError): VirtDriverCrashed {
  return new VirtDriverCrashed(call.driver, call.method, textOf(error), { cause: error });
}

/**
 * Starts to serve metrics.
 * @param port undefined: no metrics; 0: any free port. @throws {AddressUnusable}
 */
export async function openMetrics(port: number | undefined, runtime: Pick<Runtime, "servers">): Promise<MetricsOutlet> {
  if (port === undefined) {
    return NO_OUTLET;
  }
  let watched: ConductorConnection | undefined;
  const sessions = new Map<string, HostSession>();
  const registry = await createMetricsRegistry({
    leases: () => new Map([...sessions].map(([host, { leaseHeld }]) => [host, leaseHeld])),
    conductorConnected: () => watched?.state === "connected",
  });
  const listener = await serveMetrics(runtime.servers, registry, port);
  return {
    forHost: (host) => registry.forHost(host),
    url: `${listener.url}/metrics`,
    watchConnection: (connection) => {
      watched = connection;
    },
    watchHost: (session) => void sessions.set(session.host, session),
    close: () => listener.close(0),
  };
}
