import {
  type ComponentReport,
  type HoldersReport,
  type HostCommand,
  type HostStatesReport,
  isAddHosts,
  type Resting,
} from "../../control-plane/local/reports.js";

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
