import type { LogFields, Logger } from "./runtime.js";

export type LogLevel = Exclude<keyof Logger, "child">;

/** A logger that handles the lines of all levels alike. */
export abstract class LevelLogger implements Logger {
  abstract log(level: LogLevel, message: string, fields?: LogFields): void;
  abstract child(fields: LogFields): Logger;

  trace(message: string, fields?: LogFields): void {
    this.log("trace", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.log("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.log("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.log("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.log("error", message, fields);
  }

  fatal(message: string, fields?: LogFields): void {
    this.log("fatal", message, fields);
  }
}
