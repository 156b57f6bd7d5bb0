import { LevelLogger, type LogLevel } from "../runtime/level-logger.js";
import type { LogFields, Logger } from "../runtime/runtime.js";

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
export class VirtualLogger extends LevelLogger {
  readonly #keep: (level: LogLevel, message: string, fields: LogFields) => void;
  readonly #fields: LogFields;

  constructor(keep: (level: LogLevel, message: string, fields: LogFields) => void, fields: LogFields = {}) {
    super();
    this.#keep = keep;
    this.#fields = fields;
  }

  child(fields: LogFields): Logger {
    return new VirtualLogger(this.#keep, { ...this.#fields, ...fields });
  }

  log(level: LogLevel, message: string, fields: LogFields = {}): void {
    this.#keep(level, message, { ...this.#fields, ...fields });
  }
}
