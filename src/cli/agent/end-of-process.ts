import type { Logger } from "../../runtime/logger.js";
import type { Opened } from "../../runtime/opened.js";
import { ExitCode } from "../ui/exit-code.js";
import { onParentGone, tellParent } from "../ui/parent.js";

/** When and why an agent process is to end. */
export class EndOfProcess {
  readonly #abort = new AbortController();
  readonly #logger: Logger;
  #broken: Error | undefined;
  #stop: () => void = () => {};
  #asked = 0;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  /** Aborted once it is to end. */
  get signal(): AbortSignal {
    return this.#abort.signal;
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

  /** SIGINT's and SIGTERM's. */
  ask(): void {
    this.#asked += 1;
    // The second time the person means it; a half-done operation is what the next start mends.
    if (this.#asked > 1) {
      this.#logger.warn("stopped a second time: the agent ends at once, whatever is under way");
      process.exit(ExitCode.failure);
    }
    this.#abort.abort();
    tellParent({ type: "component", state: "stopping", detail: "" });
    this.#stop();
  }
}

/** Ends with SIGINT, SIGTERM and the parent. @param opened takes what takes that back */
export function endOnSignals(logger: Logger, opened: Opened): EndOfProcess {
  const end = new EndOfProcess(logger);
  const stop = () => end.ask();
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  opened.add(() => {
    process.off("SIGINT", stop);
    process.off("SIGTERM", stop);
  });
  onParentGone(stop);
  return end;
}
