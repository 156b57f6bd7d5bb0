import type { LogFields, Logger } from "../../runtime/runtime.js";

/** Hears of warnings of a host that starts; null: it has started. */
export type Warned = () => ((message: string) => void) | null;

/**
 * What an agent says while it starts is for who debugs it, where a thousand do so at once. Its warnings go to whom `warned` gives
 * meanwhile, so that those of many hosts can be told together.
 */
export class StartLogger implements Logger {
  readonly #logger: Logger;
  readonly #warned: Warned;

  constructor(logger: Logger, warned: Warned) {
    this.#logger = logger;
    this.#warned = warned;
  }

  trace(message: string, fields?: LogFields): void {
    this.#logger.trace(message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#logger.debug(message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#logger[this.#warned() === null ? "info" : "debug"](message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    const onWarning = this.#warned();
    onWarning?.(message);
    this.#logger[onWarning === null ? "warn" : "debug"](message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#logger.error(message, fields);
  }

  fatal(message: string, fields?: LogFields): void {
    this.#logger.fatal(message, fields);
  }

  child(fields: LogFields): Logger {
    return new StartLogger(this.#logger.child(fields), this.#warned);
  }
}
