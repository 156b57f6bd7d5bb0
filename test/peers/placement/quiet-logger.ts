import type { Logger } from "../../../src/runtime/logger.js";

const nothing = () => {};

/** Says nothing. */
export const quietLogger: Logger = {
  trace: nothing,
  debug: nothing,
  info: nothing,
  warn: nothing,
  error: nothing,
  fatal: nothing,
  child: () => quietLogger,
};
