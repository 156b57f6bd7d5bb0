import {
  type ComponentReport,
  type HoldersReport,
  type HostCommand,
  type HostStatesReport,
  isAddHosts,
  isGoOn,
  isRest,
  type Resting,
} from "../../control-plane/local/reports.js";
import { ExitCode } from "./exit-code.js";

/** True: `compute-cluster up` has started this process, and may have ended since. */
const isChild = (): boolean => process.send !== undefined;

/** Tells `compute-cluster up`, when it is the parent, something. */
export function notifyParent(report: ComponentReport | HoldersReport | HostStatesReport | HostCommand | Resting): void {
  if (process.connected) {
    process.send?.(report);
  }
}

/** What ends a listener. */
type Forget = () => void;

/** Calls `listener` with each message of `compute-cluster up`. Undefined: that is not the parent. */
export function onParentMessage(listener: (message: unknown) => void): Forget | undefined {
  if (!isChild()) {
    return undefined;
  }
  process.on("message", listener);
  return () => void process.off("message", listener);
}

/** Calls `action` once the parent is gone, at once where it has gone before; never without one. */
export function onParentGone(action: () => void): Forget {
  if (isChild() && !process.connected) {
    action();
  } else if (isChild()) {
    process.once("disconnect", action);
  }
  return () => void process.off("disconnect", action);
}

/** Calls `action` with the hosts that the parent adds. */
export function onAddHosts(action: (hosts: readonly string[]) => void): Forget | undefined {
  return onParentMessage((message) => {
    if (isAddHosts(message)) {
      action(message.hosts);
    }
  });
}

/** Gives up the channel to the parent, which would keep this process alive. Nobody takes that for the parent's end. */
export function leaveParent(): void {
  if (process.connected) {
    process.removeAllListeners("disconnect");
    process.disconnect();
  }
}

/**
 * Resolves at SIGINT, SIGTERM, or when the parent that started this process as a child of `up` is gone.
 * @param unless it resolves then, too
 */
export function waitForShutdown(unless?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const onShutdown = (): void => {
      process.off("SIGINT", onShutdown);
      process.off("SIGTERM", onShutdown);
      unless?.removeEventListener("abort", onShutdown);
      forget();
      resolve();
    };
    process.on("SIGINT", onShutdown);
    process.on("SIGTERM", onShutdown);
    unless?.addEventListener("abort", onShutdown);
    const forget = onParentGone(() => queueMicrotask(onShutdown));
    if (unless?.aborted) {
      onShutdown();
    }
  });
}

/** Aborted by the first Ctrl-C or SIGTERM, so that a command can clean up; the second one ends the process at once. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) {
    process.on(name, () => {
      if (controller.signal.aborted) {
        process.exit(ExitCode.failure);
      }
      controller.abort(new Error("interrupted"));
    });
  }
  return controller.signal;
}

interface WorkLoop<T, R> {
  /** What other arguments ask for. */
  readonly parse: (args: readonly string[]) => Promise<T>;
  /** Does it to its end. Once `rest` is aborted it ends as by `kill -9`, and leaves nothing that goes on; else it throws. */
  readonly live: (work: T, rest: AbortSignal) => Promise<R>;
}

/**
 * Does a program's work, and then, in the same process, what `compute-cluster up` gives it after it has had it rest.
 * @returns what the last of them came to; undefined: it was told to end while it rested
 */
export async function runWorkLoop<T, R>(first: T, { parse, live }: WorkLoop<T, R>): Promise<R | undefined> {
  for (let work: T = first; ; ) {
    const rest = new AbortController();
    const forget = onParentMessage((message) => {
      if (isRest(message)) {
        rest.abort();
      }
    });
    try {
      const result = await live(work, rest.signal);
      if (!rest.signal.aborted) {
        return result;
      }
    } finally {
      forget?.();
    }
    const args = await untilGoOn();
    if (args === undefined) {
      return undefined;
    }
    work = await parse(args);
  }
}

async function untilGoOn(): Promise<readonly string[] | undefined> {
  const goOn = new AbortController();
  let args: readonly string[] | undefined;
  const forget = onParentMessage((message) => {
    if (isGoOn(message)) {
      args = message.args;
      goOn.abort();
    }
  });
  notifyParent({ type: "resting" });
  await waitForShutdown(goOn.signal);
  forget?.();
  return args;
}
