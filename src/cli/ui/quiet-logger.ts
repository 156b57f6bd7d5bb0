import type { Logger } from "../../runtime/runtime.js";

const nothing = (): void => undefined;

/** The logger of commands whose output is their result. */
export const quietLogger: Logger = Object.freeze({
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  child: () => quietLogger,
});
