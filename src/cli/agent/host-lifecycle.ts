import type { AgentState } from "../../agent/context.js";
import { Agent, type AgentOptions } from "../../agent/lifecycle/agent.js";
import { type AgentMetrics, NO_METRICS } from "../../agent/metrics/metrics.js";
import { createMetricsRegistry, serveMetrics } from "../../agent/metrics/metrics-registry.js";
import type { ConductorConnection, HostSession, KillableSession } from "../../conductor-client/port.js";
import type { NovaConfig } from "../../config/nova-config.js";
import type { FaultFile } from "../../faults/fault-file.js";
import { createFaultyRuntime } from "../../faults/fault-injection.js";
import { SharedPlacementState } from "../../placement-client/client-context.js";
import { createKillableRuntime } from "../../runtime/killable-runtime.js";
import { Life } from "../../runtime/lifetime.js";
import type { Logger, Runtime } from "../../runtime/runtime.js";
import { within } from "../../runtime/time.js";
import { fieldsOf, type UnhandledError } from "../../virt/containment.js";
import type { DriverContext } from "../../virt/context.js";
import { textOf } from "../../virt/driver-error.js";
import { VirtDriverCrashed } from "../../virt/errors.js";
import { openFaults } from "./agent-faults.js";
import { reportClient } from "./connect.js";
import { traceDriver } from "./driver-trace.js";
import type { LiveHost } from "./hosts.js";
import type { LoadedConfig } from "./load-config.js";

/** What `--metrics-port` asks for. */
export interface MetricsOutlet {
  /** Label `host` of every sample; "" is none: what the hosts of a process share. */
  forHost(host: string): AgentMetrics;
  /** The address of the metrics; null: they are not served. */
  readonly url: string | null;
  /** From now on the metrics show the state of the connection. */
  watchConnection(connection: ConductorConnection): void;
  /** From now on the metrics show whether the session has the host's lease. */
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

/** One life of a host, as far as its driver can harm it. */
interface DriverErrorOwner {
  readonly metrics: AgentMetrics;
  readonly alive: () => boolean;
  readonly giveUp: (reason: Error) => void;
}

/** Gives each error that a driver did not catch to the host whose driver it was. */
export class UnhandledDriverErrors {
  readonly #logger: Logger;
  /** Hears of what is fatal, and no host's. */
  readonly #ownerless: (reason: Error) => void;
  readonly #owners = new WeakMap<DriverContext, DriverErrorOwner>();

  constructor(logger: Logger, ownerless: (reason: Error) => void) {
    this.#logger = logger;
    this.#ownerless = ownerless;
  }

  /** What the driver does with these doors is that host's. */
  own(context: DriverContext, owner: DriverErrorOwner): void {
    this.#owners.set(context, owner);
  }

  take(unhandledError: UnhandledError): void {
    const { call, kind } = unhandledError;
    const owner = call.context === undefined ? undefined : this.#owners.get(call.context);
    if (owner?.alive() === false) {
      this.#logger.debug("an error of a driver whose host was killed", {
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
        ? `${call.method} left a rejected promise that nothing handles`
        : `a callback of ${call.method} threw, and nothing could catch it; ${owner === undefined ? "of which host is not known" : "the host is given up"}`;
    const effect = failsCall ? "the call fails" : "no call of it is under way any more";
    const fields = { ...fieldsOf(call), err: error instanceof Error ? error : new Error(textOf(error)) };
    const text = `driver ${call.driver}: ${what}; ${effect}`;
    if (kind === "rejection") {
      this.#logger.error(text, fields);
    } else {
      this.#logger.fatal(text, fields);
    }
  }
}

/** The connection is that of all hosts of the process. */
function warnOfPartitions({ faults }: FaultFile, { logger }: Runtime): void {
  const warn = () => {
    if (faults.peek("conductor") !== undefined) {
      logger.warn("the fault at point conductor has no effect on a host that shares its connection with others");
    }
  };
  faults.onChange(warn);
  warn();
}

/** What the hosts of a process share. */
export interface SharedParts {
  readonly runtime: Runtime;
  readonly connection: ConductorConnection;
  readonly outlet: MetricsOutlet;
  readonly unhandledErrors: UnhandledDriverErrors;
  readonly traceDriver: boolean;
  /** What the agents say they are; undefined: what this build is. */
  readonly serviceVersion: number | undefined;
  /** By `[placement]`, which is one object for all hosts that have the same. */
  readonly known: WeakMap<NovaConfig["placement"], SharedPlacementState>;
}

export interface LifeOptions {
  /** Called once. */
  readonly onServing: () => void;
  readonly onProgress?: (state: AgentState) => void;
  /** Opened before, and closed at the end; default: it opens its own. */
  readonly faultFile?: FaultFile | null;
}

/** Milliseconds that what a killed life had begun to write may take. */
const QUIET_WITHIN = 30_000;

/** One life of one host's agent in a process of many: all that is its own, and ends with it. */
export class HostLife implements LiveHost {
  readonly host: string;
  readonly #life = new Life();
  readonly #shared: SharedParts;
  /** Without the origin of each option, which is larger than the options. */
  readonly #options: Pick<AgentOptions, "config" | "driver" | "driverConfig" | "configFiles" | "changeDriver">;
  readonly #runtime: Runtime;
  readonly #metrics: AgentMetrics;
  readonly #onServing: () => void;
  readonly #onProgress: (state: AgentState) => void;
  #faultFile: FaultFile | null;
  #agent: Agent | undefined;
  #session: KillableSession | undefined;
  /** Why it is to end before there is an agent to end. */
  #broken: Error | undefined;
  #stopping = false;

  constructor(
    loaded: LoadedConfig,
    shared: SharedParts,
    { onServing, onProgress = () => {}, faultFile = null }: LifeOptions,
  ) {
    this.#onProgress = onProgress;
    this.#faultFile = faultFile;
    const { compiled, driver, driverConfig, configFiles, changeDriver } = loaded;
    this.host = compiled.config.defaults.host;
    this.#options = { config: compiled.config, driver, driverConfig, configFiles, changeDriver };
    this.#shared = shared;
    this.#runtime = createKillableRuntime(shared.runtime, this.#life);
    this.#metrics = shared.outlet.forHost(this.host);
    this.#onServing = onServing;
  }

  /**
   * From start-up to the end. Resolves when it has ended as asked. Rejects with why it did not start, or could not go on; after
   * {@link kill} it never settles.
   */
  async run(): Promise<void> {
    try {
      // Two steps, and no more: what is called stays for as long as it serves, and thousands of hosts do little else.
      const agent = await this.#life.whileAlive(() => this.#start());
      await ended(agent);
      await this.#life.whileAlive(() => this.#close());
      if (agent.failure !== null) {
        throw agent.failure;
      }
    } finally {
      // What did not end in time goes no further than a process that ends would let it.
      this.#life.kill();
    }
  }

  /** Returns when it serves. */
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
    if (state === "serving" && this.#life.alive) {
      this.#onServing();
    }
    this.#onProgress(state);
  }

  async #close(): Promise<void> {
    try {
      await this.#session?.close();
    } finally {
      await this.#faultFile?.close();
    }
  }

  /** SIGTERM's: drains. What {@link run} gave settles at its end. */
  stop(): void {
    this.#stopping = true;
    void this.#agent?.stop();
  }

  /** SIGKILL's: everything of it is cut off at once. Resolves when the conductor knows, and what it had begun to write is written. */
  async kill(): Promise<void> {
    this.#life.kill();
    const { timers } = this.#shared.runtime;
    await this.#session?.kill();
    await within(timers, QUIET_WITHIN, `what host ${this.host} had begun to write`, this.#life.quiet());
  }

  /** The driver cannot be relied on any more. */
  giveUp(reason: Error): void {
    this.#broken ??= reason;
    void this.#agent?.giveUp(reason);
  }

  /** SIGHUP's. */
  reset(): void {
    this.#agent?.reset();
  }

  #makeAgent(runtime: Runtime, metrics: AgentMetrics, faults: Parameters<typeof createFaultyRuntime>[1]): Agent {
    const { connection, outlet, unhandledErrors, serviceVersion, known: knownBy } = this.#shared;
    const { config, driver } = this.#options;
    const known = knownBy.get(config.placement) ?? new SharedPlacementState();
    knownBy.set(config.placement, known);
    const session = connection.host(this.host, { lease: !config.workarounds.upstreamQuirks.has("no-host-lease") });
    this.#session = session;
    outlet.watchHost(session);
    const create = (context: DriverContext) => {
      unhandledErrors.own(context, { metrics, alive: () => this.#life.alive, giveUp: (reason) => this.giveUp(reason) });
      return driver.create(context);
    };
    return new Agent({
      host: this.host,
      runtime,
      session,
      placement: reportClient(config, runtime, session, metrics, known),
      sharedImages: known.images,
      metrics,
      faults,
      ...this.#options,
      driver: { ...driver, create },
      ...(serviceVersion === undefined ? {} : { serviceVersion }),
    });
  }
}

/** Resolves when the agent has ended, as asked or not. */
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

/** Why an agent ends whose driver threw where nothing could catch it. */
function crashOf({ call, error }: UnhandledError): VirtDriverCrashed {
  return new VirtDriverCrashed(call.driver, call.method, textOf(error), { cause: error });
}

/** @param port undefined: no metrics; 0: any free port. @throws {AddressInUse} */
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
