import type { ComponentReport } from "../../runtime/children.js";

/** Tells `compute-cluster up`, when it is the parent, where this process is. */
export const reportComponent = (report: ComponentReport): void => {
  if (process.connected) process.send?.(report);
};
