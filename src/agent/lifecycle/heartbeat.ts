import { isConductorError } from "../../conductor-client/errors.js";
import type { Service } from "../../records/index.js";
import { within } from "../../runtime/time.js";
import type { AgentContext } from "../context.js";

/** Delay between joining the service group and the first heartbeat, in milliseconds (spec 2.1 row 7). */
const FIRST_HEARTBEAT_DELAY = 5_000;

/** Spec 2.5: reports the service as up every `report_interval` seconds. Never fails, never recreates the service record. */
export class Heartbeat {
  readonly #context: AgentContext;
  readonly #service: Service;
  #stopped = false;
  /** Cancels the current wait or call. */
  #leave: () => void = () => {};
  #connected = true;
  /** True if the missing conductor was already logged, and no call has succeeded since. */
  #unreachable = false;

  constructor(context: AgentContext, service: Service) {
    this.#context = context;
    this.#service = service;
  }

  /** False after a failed heartbeat. */
  get connected(): boolean {
    return this.#connected;
  }

  start(): void {
    this.#stopped = false;
    this.#wait(FIRST_HEARTBEAT_DELAY);
  }

  stop(): void {
    this.#stopped = true;
    this.#leave();
  }

  /** Only the timer is retained between heartbeats: most of the thousands of hosts in a process are waiting. */
  #wait(milliseconds: number): void {
    this.#leave = this.#context.runtime.timers.after(milliseconds, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const stop = new AbortController();
    this.#leave = () => stop.abort();
    await this.#report(stop.signal);
    if (!this.#stopped) {
      this.#wait(this.#context.config.defaults.reportInterval * 1000);
    }
  }

  async #report(signal: AbortSignal): Promise<void> {
    const { conductor, config, logger, runtime, metrics } = this.#context;
    const interval = config.defaults.reportInterval * 1000;
    try {
      // Once a host counts as up, messages to it must arrive: the broker drops messages to a queue without a consumer.
      const settled = conductor.leaseSettled();
      if (settled !== undefined) {
        await within(runtime.timers, interval, "the connection of the host's lease", settled, signal);
      }
      // A heartbeat that takes longer than an interval is worthless: the next one reports the same.
      await conductor.call(
        "service_report_state",
        { id: this.#service.id },
        { timeout: interval, signal, lowPriority: true },
      );
      if (!this.#connected) {
        logger.info("heartbeats succeed again", { host: this.#context.host });
      }
      this.#connected = true;
      this.#unreachable = false;
      metrics.heartbeat(true);
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      this.#connected = false;
      metrics.heartbeat(false);
      this.#logFailure(error);
    }
  }

  /** Logs an unreachable conductor once, as Nova does: thousands of hosts would fill the log otherwise. */
  #logFailure(error: unknown): void {
    const { logger, host } = this.#context;
    const isUnreachable = isConductorError(error, "MessagingTimeout", "ConductorUnreachable");
    if (!(isUnreachable && this.#unreachable)) {
      const what = isConductorError(error, "ServiceNotFound")
        ? "the service record of this host is gone; it is not created again while the agent runs"
        : "could not report the heartbeat";
      logger.error(what, { host, err: error });
    }
    this.#unreachable = isUnreachable;
  }
}
