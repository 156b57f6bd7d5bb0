import { onParentGone } from "./parent.js";

/**
 * Resolves at SIGINT, SIGTERM, or when the parent that started this process as a child of `up` is gone.
 * @param unless it resolves then, too
 */
export function untilTold(unless?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const told = (): void => {
      process.off("SIGINT", told);
      process.off("SIGTERM", told);
      unless?.removeEventListener("abort", told);
      forget();
      resolve();
    };
    process.on("SIGINT", told);
    process.on("SIGTERM", told);
    unless?.addEventListener("abort", told);
    const forget = onParentGone(() => queueMicrotask(told));
    if (unless?.aborted) {
      told();
    }
  });
}
