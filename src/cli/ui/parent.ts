import {
  type ComponentReport,
  type HostCommand,
  type HostReport,
  type HostStateReport,
  isAddHosts,
} from "../../cluster/local/reports.js";

/** True: `compute-cluster up` has started this process, and may have ended since. */
const isChild = (): boolean => process.send !== undefined;

/** Tells `compute-cluster up`, when it is the parent, something. */
export function tellParent(report: ComponentReport | HostReport | HostStateReport | HostCommand): void {
  if (process.connected) {
    process.send?.(report);
  }
}

/** Calls `listener` with each message of `compute-cluster up`. False: that is not the parent. */
export function onParentMessage(listener: (message: unknown) => void): boolean {
  if (isChild()) {
    process.on("message", listener);
  }
  return isChild();
}

/** Calls `action` once the parent is gone, at once where it has gone before; never without one. */
export function onParentGone(action: () => void): void {
  if (!isChild()) {
    return;
  }
  if (process.connected) {
    process.once("disconnect", action);
  } else {
    action();
  }
}

/** Calls `action` with the hosts that the parent adds. */
export function onAddHosts(action: (hosts: readonly string[]) => void): void {
  onParentMessage((message) => {
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
