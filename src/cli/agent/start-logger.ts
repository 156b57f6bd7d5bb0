import type { Logger } from "../../runtime/logger.js";

/**
 * What an agent says while it starts is for who debugs it, where a thousand do so at once.
 * @param warned hears of warnings meanwhile, so that those of many hosts can be told together; null: it has started
 */
export function startLogger(logger: Logger, warned: () => ((message: string) => void) | null): Logger {
  return {
    trace: (message, fields) => logger.trace(message, fields),
    debug: (message, fields) => logger.debug(message, fields),
    info: (message, fields) => logger[warned() === null ? "info" : "debug"](message, fields),
    warn: (message, fields) => {
      const tell = warned();
      tell?.(message);
      logger[tell === null ? "warn" : "debug"](message, fields);
    },
    error: (message, fields) => logger.error(message, fields),
    fatal: (message, fields) => logger.fatal(message, fields),
    child: (fields) => startLogger(logger.child(fields), warned),
  };
}
