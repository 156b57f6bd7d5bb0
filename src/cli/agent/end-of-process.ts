import type { CleanupStack } from "../../runtime/lifetime.js";
import type { Logger } from "../../runtime/runtime.js";
import { ExitCode } from "../ui/exit-code.js";
import { notifyParent, onParentGone } from "../ui/parent.js";

/** When and why what an agent process does is to end. */
export class EndOfProcess {
  readonly #abort = new AbortController();
  readonly #logger: Logger;
  #broken: Error | undefined;
  readonly #rest: AbortSignal;
  #stop: () => void = () => {};
  #stopRequests = 0;

  constructor(logger: Logger, rest: AbortSignal) {
    this.#logger = logger;
    this.#rest = rest;
  }

  /** Aborted once it is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** The process goes on, with other work: what it does now ends as by `kill -9`. */
  get rests(): boolean {
    return this.#rest.aborted;
  }

  /** What makes it end that is no host's fault; undefined: somebody asked for it. */
  get broken(): Error | undefined {
    return this.#broken;
  }

  /** Calls `action` when it is to end; at once, if it is. */
  onStop(action: () => void): void {
    this.#stop = action;
    if (this.signal.aborted) {
      action();
    }
  }

  breakOff(reason: Error): void {
    this.#broken ??= reason;
    this.#abort.abort();
    this.#stop();
  }

  /** Its work is to end at once. */
  cut(): void {
    this.#abort.abort();
    this.#stop();
  }

  /** SIGINT's and SIGTERM's. */
  ask(): void {
    this.#stopRequests += 1;
    // The second time the person means it; a half-done operation is what the next start mends.
    if (this.#stopRequests > 1) {
      this.#logger.warn("stopped a second time: the agent ends at once, whatever is under way");
      process.exit(ExitCode.failure);
    }
    this.#abort.abort();
    notifyParent({ type: "component", state: "stopping", detail: "" });
    this.#stop();
  }
}

/**
 * Ends with SIGINT, SIGTERM and the parent, and once the process is to rest.
 * @param cleanup takes what takes that back
 */
export function endOnSignals(logger: Logger, cleanup: CleanupStack, rest: AbortSignal): EndOfProcess {
  const end = new EndOfProcess(logger, rest);
  const stop = () => end.ask();
  const cut = () => end.cut();
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  rest.addEventListener("abort", cut);
  const forget = onParentGone(stop);
  cleanup.add(() => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
    rest.removeEventListener("abort", cut);
    forget();
  });
  if (rest.aborted) {
    cut();
  }
  return end;
}
