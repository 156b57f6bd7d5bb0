import {
  type ComponentReport,
  type HoldersReport,
  type HostCommand,
  type HostStatesReport,
  isMessage,
  type Resting,
} from "../../control-plane/local/reports.js";
import { ExitCode } from "./exit-code.js";

/** Returns whether `compute-agent up` started this process. The parent may have ended since. */
const isChild = (): boolean => process.send !== undefined;

/** Sends a report to the parent `compute-agent up`, if there is one. */
export function notifyParent(report: ComponentReport | HoldersReport | HostStatesReport | HostCommand | Resting): void {
  if (process.connected) {
    process.send?.(report);
  }
}

/** Removes a listener. */
type Forget = () => void;

/** Calls `listener` with each message of the parent `compute-agent up`. Returns undefined if there is no such parent. */
export function onParentMessage(listener: (message: unknown) => void): Forget | undefined {
  if (!isChild()) {
    return undefined;
  }
  process.on("message", listener);
  return () => void process.off("message", listener);
}

/** Calls `action` once the parent has ended; immediately if it already has, and never without a parent. */
export function onParentGone(action: () => void): Forget {
  if (isChild() && !process.connected) {
    action();
  } else if (isChild()) {
    process.once("disconnect", action);
  }
  return () => void process.off("disconnect", action);
}

/** Calls `action` with hosts that the parent adds. */
export function onAddHosts(action: (hosts: readonly string[]) => void): Forget | undefined {
  return onParentMessage((message) => {
    if (isMessage(message, "add-hosts")) {
      action(message.hosts);
    }
  });
}

/** Closes the channel to the parent, which would keep this process alive. It does not count as the parent's end. */
export function leaveParent(): void {
  if (process.connected) {
    process.removeAllListeners("disconnect");
    process.disconnect();
  }
}

/**
 * Resolves at SIGINT, SIGTERM, or when the parent `up` of this process has ended.
 * @param unless also resolves when this is aborted
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

/**
 * Returns a signal that the first Ctrl-C or SIGTERM aborts, so that a command can clean up. The second one exits
 * immediately.
 */
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
  /** Parses the arguments of further work. */
  readonly parse: (args: readonly string[]) => Promise<T>;
  /** Runs the work. Once `rest` is aborted, it ends as `kill -9` would end it, with nothing pending; otherwise it throws. */
  readonly live: (work: T, rest: AbortSignal) => Promise<R>;
}

/**
 * Runs a program's work, and then, in the same process, further work that `compute-agent up` assigns after each rest.
 * @returns the result of the last work; undefined if the process was stopped while idle
 */
export async function runWorkLoop<T, R>(first: T, { parse, live }: WorkLoop<T, R>): Promise<R | undefined> {
  for (let work: T = first; ; ) {
    const rest = new AbortController();
    const forget = onParentMessage((message) => {
      if (isMessage(message, "rest")) {
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
    if (isMessage(message, "go-on")) {
      args = message.args;
      goOn.abort();
    }
  });
  notifyParent({ type: "resting" });
  await waitForShutdown(goOn.signal);
  forget?.();
  return args;
}
