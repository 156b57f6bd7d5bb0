import { onParentGone } from "./parent.js";

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
