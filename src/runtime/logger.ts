/** Structured logging (pino's shape). Secrets never reach it: pass names, never tokens or passwords. */
export interface Logger {
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  fatal(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

/** `err` holds an Error; `request_id`, `instance`, `host`, `node`, `migration` are spelled so. */
export type LogFields = Readonly<Record<string, unknown>>;
