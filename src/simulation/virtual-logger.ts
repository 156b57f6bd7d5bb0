import type { LogFields, Logger } from "../runtime/runtime.js";

export type LogLevel = "trace" | "debug" | "info" | "warn" | "error" | "fatal";

export interface LogRecord {
  /** Virtual time in milliseconds since the epoch. */
  readonly time: number;
  /** The name of the logging process. */
  readonly process: string;
  readonly level: LogLevel;
  readonly message: string;
  readonly fields: LogFields;
}

/** Passes log records to a callback. */
export class VirtualLogger implements Logger {
  readonly #keep: (level: LogLevel, message: string, fields: LogFields) => void;
  readonly #fields: LogFields;

  constructor(keep: (level: LogLevel, message: string, fields: LogFields) => void, fields: LogFields = {}) {
    this.#keep = keep;
    this.#fields = fields;
  }

  trace(message: string, fields?: LogFields): void {
    this.#log("trace", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#log("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#log("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#log("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#log("error", message, fields);
  }

  fatal(message: string, fields?: LogFields): void {
    this.#log("fatal", message, fields);
  }

  child(fields: LogFields): Logger {
    return new VirtualLogger(this.#keep, { ...this.#fields, ...fields });
  }

  #log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#keep(level, message, { ...this.#fields, ...fields });
  }
}
