import type { AgentMetrics } from "../../agent/metrics/metrics.js";
import type { Logger } from "../../runtime/runtime.js";
import { fieldsOf, type UnhandledError } from "../../virt/containment.js";
import type { DriverContext } from "../../virt/context.js";
import { textOf } from "../../virt/driver-error.js";
import { VirtDriverCrashed } from "../../virt/errors.js";

/** One life of a host, as far as its driver can harm it. */
export interface DriverErrorOwner {
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

/** Why an agent ends whose driver threw where nothing could catch it. */
function crashOf({ call, error }: UnhandledError): VirtDriverCrashed {
  return new VirtDriverCrashed(call.driver, call.method, textOf(error), { cause: error });
}
