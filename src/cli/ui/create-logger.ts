import { createNodeLogger, type NodeLoggerOptions } from "../../runtime/node/node-logger.js";
import type { Logger } from "../../runtime/runtime.js";
import { logLine } from "./logging.js";

export interface LoggerOptions extends Omit<NodeLoggerOptions, "format"> {
  /** `pretty` is the line format of OpenStack's services; `json` is one object per line. Default `pretty`. */
  readonly format?: "pretty" | "json";
  /** Whether `pretty` uses colours. Default: false. */
  readonly colour?: boolean;
}

/** Creates the logger of a program. */
export function createLogger({ format = "pretty", colour = false, ...options }: LoggerOptions = {}): Logger {
  return createNodeLogger(format === "json" ? options : { ...options, format: (entry) => logLine(entry, colour) });
}
