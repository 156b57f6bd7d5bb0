/** Resolves at SIGINT, SIGTERM, or when the parent that started this process as a child of `up` is gone. */
export const untilTold = (): Promise<void> =>
  new Promise((resolve) => {
    process.once("SIGINT", () => resolve());
    process.once("SIGTERM", () => resolve());
    if (process.connected) process.once("disconnect", () => resolve());
  });
