import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import type { Logger } from "../../runtime/logger.js";
import { fieldsOf, type StrayError } from "../../virt/containment.js";
import type { DriverContext } from "../../virt/context.js";
import { textOf } from "../../virt/driver-error.js";
import { VirtDriverCrashed } from "../../virt/errors.js";

/** One life of a host, as far as its driver can harm it. */
export interface StrayOwner {
  readonly metrics: AgentMetrics;
  readonly alive: () => boolean;
  readonly giveUp: (reason: Error) => void;
}

/** Gives each error that a driver did not catch to the host whose driver it was. */
export class DriverStrays {
  readonly #logger: Logger;
  /** Hears of what is fatal, and no host's. */
  readonly #ownerless: (reason: Error) => void;
  readonly #owners = new WeakMap<DriverContext, StrayOwner>();

  constructor(logger: Logger, ownerless: (reason: Error) => void) {
    this.#logger = logger;
    this.#ownerless = ownerless;
  }

  /** What the driver does with these doors is that host's. */
  own(context: DriverContext, owner: StrayOwner): void {
    this.#owners.set(context, owner);
  }

  take(stray: StrayError): void {
    const { call, kind } = stray;
    const owner = call.context === undefined ? undefined : this.#owners.get(call.context);
    if (owner?.alive() === false) {
      this.#logger.debug("an error of a driver whose host was killed", { ...fieldsOf(call), err: stray.error });
      return;
    }
    owner?.metrics.driverStray(call.method, kind);
    this.#report(stray, owner);
    if (kind === "exception") {
      (owner?.giveUp ?? this.#ownerless)(crashOf(stray));
    }
  }

  #report({ call, kind, error, failsCall }: StrayError, owner: StrayOwner | undefined): void {
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

/** Why an agent ends whose driver threw where nothing could catch it. */
function crashOf({ call, error }: StrayError): VirtDriverCrashed {
  return new VirtDriverCrashed(call.driver, call.method, textOf(error), { cause: error });
}
