import type { Logger } from "../runtime/runtime.js";
import { describe } from "./driver-error.js";
import { LIFECYCLE_TRANSITIONS, type LifecycleEvent } from "./events.js";
import { UUID_PATTERN } from "./patterns.js";

export type LifecycleListener = (event: LifecycleEvent) => void | Promise<void>;

/**
 * The way of events from a driver to the agent (spec 8.5). Delivered in the order they came, never while the driver is
 * still in `emitEvent`. Without a listener they are dropped.
 */
export class LifecycleEvents {
  readonly #driver: string;
  readonly #logger: Logger;
  #listener: LifecycleListener | null = null;

  constructor(driver: string, logger: Logger) {
    this.#driver = driver;
    this.#logger = logger;
  }

  /** There is one listener; a new one takes its place, null drops what comes. */
  setListener(listener: LifecycleListener | null): void {
    this.#listener = listener;
  }

  /** What `context.emitEvent` is. Never throws. */
  readonly emit = (event: LifecycleEvent): void => {
    const broken = brokenRule(event);
    if (broken) {
      this.#logger.warn(
        `driver ${this.#driver}: emitEvent must be given ${broken}, but found ${describe(event)}; the event is dropped`,
        { driver: this.#driver, method: "emitEvent" },
      );
      return;
    }
    const { timestamp, uuid, name, transition } = event;
    void this.#deliver({ timestamp, uuid, name, transition });
  };

  async #deliver(event: LifecycleEvent): Promise<void> {
    // The driver may be in the middle of something.
    await null;
    try {
      await this.#listener?.(event);
    } catch (error) {
      this.#logger.error(`the handler of lifecycle event ${event.transition} failed`, {
        instance: event.uuid,
        err: error,
      });
    }
  }
}

/** Takes anything, since drivers may be plain JavaScript. */
function brokenRule(event: unknown): string | undefined {
  if (typeof event !== "object" || event === null) {
    return "a lifecycle event";
  }
  const { timestamp, uuid, name, transition } = event as Record<string, unknown>;
  if (typeof timestamp !== "number" || !Number.isFinite(timestamp)) {
    return "a timestamp in milliseconds";
  }
  if (typeof uuid !== "string" || !UUID_PATTERN.test(uuid)) {
    return "the guest's uuid in lower case with hyphens";
  }
  if (typeof name !== "string") {
    return "the guest's name";
  }
  const transitions: readonly unknown[] = LIFECYCLE_TRANSITIONS;
  if (!transitions.includes(transition)) {
    return `a transition of ${LIFECYCLE_TRANSITIONS.join(", ")}`;
  }
  return undefined;
}
