import type { LogFields, Logger } from "../runtime/runtime.js";
import type { LogLine } from "./cluster.js";

const nothing = (): void => undefined;

/** Hands on what is logged from `warn` on. */
export function loggerTo(hear: (line: LogLine) => void, bound: LogFields = {}): Logger {
  const at =
    (level: LogLine["level"]) =>
    (message: string, fields: LogFields = {}): void =>
      hear({ level, message, fields: { ...bound, ...fields } });
  return {
    trace: nothing,
    debug: nothing,
    info: nothing,
    warn: at("warn"),
    error: at("error"),
    fatal: at("fatal"),
    child: (fields) => loggerTo(hear, { ...bound, ...fields }),
  };
}
