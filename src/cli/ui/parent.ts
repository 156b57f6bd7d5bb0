import type { ComponentReport, HostReport } from "../../cluster/local/reports.js";

/** True: `compute-cluster up` has started this process, and may have ended since. */
const isChild = (): boolean => process.send !== undefined;

/** Tells `compute-cluster up`, when it is the parent, something. */
export function tellParent(report: ComponentReport | HostReport): void {
  if (process.connected) {
    process.send?.(report);
  }
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

/** Gives up the channel to the parent, which would keep this process alive. */
export function leaveParent(): void {
  if (process.connected) {
    process.disconnect();
  }
}
