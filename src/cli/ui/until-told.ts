import { onParentGone } from "./parent.js";

/** Resolves at SIGINT, SIGTERM, or when the parent that started this process as a child of `up` is gone. */
export function untilTold(): Promise<void> {
  return new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
    onParentGone(resolve);
  });
}
