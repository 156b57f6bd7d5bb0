import type { Service } from "../../records/index.js";
import { SparseSet } from "../../runtime/collections.js";
import type { AgentState } from "../context.js";
import { HostLeaseLost } from "../host-lease.js";
import { PeriodicLoop } from "../periodic/loop.js";
import { PERIODIC_TASKS, type PeriodicSubject } from "../periodic/tasks.js";
import type { AgentServices } from "../services.js";
import { initHost } from "../startup/init-host.js";
import { PendingEvacuations } from "../startup/pending-evacuations.js";
import { lookUpService, registerService, reportBridges } from "../startup/register-service.js";
import { agentHandlers, TaskTracker } from "./agent-handlers.js";
import { createServices, type ServiceFactories, type ViewOptions } from "./create-services.js";
import { Heartbeat } from "./heartbeat.js";
import { drain } from "./shutdown.js";

/** Nova's prefix for a disable reason that was not entered by an operator. */
const AUTOMATIC = "AUTO: ";

/** The max length of `disabled_reason` in the record. */
const LONGEST_REASON = 255;

/** Timeout of the conductor call, in milliseconds; the agent stops even if the call fails. */
const DISABLE_TIMEOUT_MS = 10_000;

export interface AgentOptions extends Omit<ViewOptions, "permit"> {
  /** The service version that the agent reports (spec 1.2); default: this build's. */
  readonly serviceVersion?: number;
  /**
   * Replaces the agent's tracker and operations. Tests use it to observe each pass of the tracker in a running agent,
   * and to record requested operations instead of running them.
   */
  readonly factories?: Partial<ServiceFactories>;
}

export class AgentStopped extends Error {
  override readonly name = "AgentStopped";

  constructor(host: string) {
    super(`the agent of ${host} was stopped before it served`);
  }
}

/** One host's agent. A process may run many. */
export class Agent {
  readonly host: string;
  readonly #options: AgentOptions;
  readonly #listeners = new SparseSet<(state: AgentState) => void>();
  readonly #tasks = new TaskTracker();
  readonly #pending = new PendingEvacuations();
  /** Aborts the waiting steps of a start; null: no start is running. */
  #ended: AbortController | null = null;
  #state: AgentState = "connecting";
  #failure: Error | null = null;
  #stopping = false;
  /** The reason to abort a running start. */
  #interruption: Error | null = null;
  /** Rejects the start's current step. */
  #leaveStep: (reason: Error) => void = leaveNothing;
  #starting: Promise<void> | null = null;
  #stopped: Promise<void> | null = null;
  #services: AgentServices | null = null;
  /** This host's service record, as registered. */
  #service: Service | null = null;
  #heartbeat: Heartbeat | null = null;
  #periodics: PeriodicLoop<PeriodicSubject> | null = null;

  constructor(options: AgentOptions) {
    this.host = options.host;
    this.#options = options;
  }

  get state(): AgentState {
    return this.#state;
  }

  /** The reason why the state is `failed`. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Calls the listener on each change; returns an unsubscribe function. */
  onState(listener: (state: AgentState) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Runs spec 2.1; resolves when the agent serves. Rejects with a start-up rejection (see {@link toStartupRejection}),
   * another error, or {@link AgentStopped}; the agent has then ended.
   */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  async #start(): Promise<void> {
    const { session, serviceVersion } = this.#options;
    session.leaseLost.then((reason) => this.#loseLease(reason));
    this.#ended = new AbortController();
    try {
      const services = await this.#step(() => this.#createServices()); // row 1
      const { signal } = this.#ended;
      const service = await this.#step(() => lookUpService(services, serviceVersion, { signal })); // row 2
      this.#enter("starting");
      const enter = (to: AgentState) => this.#enter(to);
      await this.#step(() => initHost(services, { service, pending: this.#pending, enter, signal })); // row 3
      this.#enter("registering");
      const own = await this.#step(() => registerService(services, service, serviceVersion)); // row 4
      await this.#step(() => reportBridges(services));
      this.#enter("tracking");
      await this.#step(async () => services.tracker.bindService(own)); // row 5
      await this.#step(() => services.tracker.updateAvailableResource({ startup: true }));
      services.ports.events.isReceiving = true;
      await this.#step(() => session.serve(agentHandlers(services, this.#tasks))); // row 6
      await this.#step(async () => this.#joinServiceGroup(services, own)); // row 7
      await this.#step(async () => this.#startPeriodics(services)); // row 8
      this.#ended = null;
      this.#enter("serving");
    } catch (error) {
      throw await this.#end(error);
    }
  }

  /** Drains the agent and closes its connections (spec 2.8, SIGTERM); resolves in state `stopped` or `failed`. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop();
    return this.#stopped;
  }

  /** Stops after the driver became unreliable: disables the service, drains, and ends as `failed`. */
  giveUp(reason: Error): Promise<void> {
    if (this.#stopped === null && this.#state !== "failed") {
      this.#failure = reason;
    }
    return this.stop();
  }

  async #stop(): Promise<void> {
    if (this.#state === "failed") {
      return;
    }
    this.#stopping = true;
    if (this.#state !== "serving" || !this.#services || !this.#heartbeat) {
      // Start-up is abandoned in its current step: each step may be killed (spec 2.1), and without the lease it does no
      // harm.
      this.#interrupt(this.#failure ?? new AgentStopped(this.host));
      this.#ended?.abort();
      await this.#starting?.catch(() => {});
      this.#enter(this.#failure === null ? "stopped" : "failed");
      return;
    }
    this.#enter("draining");
    if (this.#failure !== null && this.#service !== null) {
      await disableService(this.#services, this.#service, this.#failure);
    }
    await drain({
      services: this.#services,
      tasks: this.#tasks,
      periodics: this.#periodics,
      heartbeat: this.#heartbeat,
    });
    await this.#options.session.close();
    this.#enter(this.#failure === null ? "stopped" : "failed");
  }

  /** Clears the cache of Placement's providers (SIGHUP); the next pass reads all of them again. */
  reset(): void {
    this.#options.placement.clearProviderCache();
  }

  async #createServices(): Promise<AgentServices> {
    this.#services = await createServices(this.#options);
    this.#services.ports.events.isReceiving = false;
    return this.#services;
  }

  #joinServiceGroup(services: AgentServices, service: Service): void {
    this.#service = service;
    this.#heartbeat = new Heartbeat(services, service);
    this.#heartbeat.start();
  }

  #startPeriodics(services: AgentServices): void {
    const { clock, timers, random } = services.runtime;
    const { periodicEnable, periodicFuzzyDelay } = services.config.defaults;
    if (!periodicEnable) {
      return;
    }
    this.#periodics = new PeriodicLoop({
      tasks: PERIODIC_TASKS,
      subject: { services, pending: this.#pending, audited: { end: null } },
      clock,
      timers,
      random,
      logger: services.logger,
      metrics: services.metrics,
      fuzzyDelay: periodicFuzzyDelay,
    });
    this.#periodics.start();
  }

  /** Races each step separately: one promise for all steps would retain the leftovers of each for the agent's lifetime. */
  async #step<T>(step: () => Promise<T>): Promise<T> {
    if (this.#interruption !== null) {
      throw this.#interruption;
    }
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#leaveStep = reject;
        step().then(resolve, reject);
      });
    } finally {
      // A closure created here would retain the step and everything that the start created, for the agent's lifetime.
      this.#leaveStep = leaveNothing;
    }
  }

  #interrupt(reason: Error): void {
    this.#interruption ??= reason;
    this.#leaveStep(reason);
  }

  #enter(state: AgentState): void {
    if (this.#state === state || this.#state === "failed" || this.#state === "stopped") {
      return;
    }
    this.#state = state;
    for (const listener of [...this.#listeners]) {
      listener(state);
    }
  }

  /** Cleans up after a start that ended early, and leaves written records as they are. @returns the reason */
  async #end(thrown: unknown): Promise<Error> {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    if (error instanceof AgentStopped) {
      await this.#letGo();
      this.#enter("stopped");
      return error;
    }
    this.#failure ??= error;
    await this.#letGo();
    this.#enter("failed");
    return this.#failure;
  }

  /** Ends without draining or touching anything: another agent may act for the host now. */
  #loseLease(reason: string): void {
    if (this.#stopping || this.#state === "failed" || this.#state === "stopped") {
      return;
    }
    this.#failure = new HostLeaseLost(this.host, reason);
    this.#options.runtime.logger.fatal(this.#failure.message, { host: this.host });
    this.#interrupt(this.#failure);
    this.#ended?.abort();
    void this.#letGo();
    this.#enter("failed");
  }

  async #letGo(): Promise<void> {
    this.#heartbeat?.stop();
    void this.#periodics?.stop();
    const released = [this.#services?.driver.cleanupHost(), this.#options.session.close()];
    for (const result of await Promise.allSettled(released)) {
      if (result.status === "rejected") {
        this.#options.runtime.logger.debug("could not close the driver or the session", {
          host: this.host,
          err: result.reason,
        });
      }
    }
  }
}

function leaveNothing(): void {}

/** Disables the service after a driver failure, until an operator enables it. Never throws. */
async function disableService(
  { conductor, tracker, runtime, logger }: AgentServices,
  { id }: Service,
  reason: Error,
): Promise<void> {
  const text = `${AUTOMATIC}${reason.message}`.slice(0, LONGEST_REASON);
  try {
    await conductor.call("service_disable", { id, reason: text }, { timeout: DISABLE_TIMEOUT_MS });
    logger.warn(`the service of this host is disabled: ${text}`);
    await tracker.setHostEnabled(false, `req-${runtime.random.uuid()}`);
  } catch (error) {
    logger.error("could not disable the service of this host", { err: error });
  }
}
