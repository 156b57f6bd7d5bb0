import type { Random } from "./cryptography.js";
import type { Files } from "./files.js";
import type { HttpClient, Transfers } from "./http.js";
import type { Servers } from "./http-server.js";
import type { Processes, Programs } from "./processes.js";
import type { Sockets } from "./sockets.js";
import type { Streams } from "./streams.js";
import type { Clock, Timers } from "./time.js";

/** Lazy loading of code that is rarely needed. */
export interface Modules {
  /**
   * @param load `() => import("./module.js")`
   * @throws what `load` throws
   */
  load<T>(load: () => Promise<T>): Promise<T>;
}

/** Structured logging in pino's format. Callers pass names, never tokens or passwords. */
export interface Logger {
  trace(message: string, fields?: LogFields): void;
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  fatal(message: string, fields?: LogFields): void;
  child(fields: LogFields): Logger;
}

export type LogLevel = Exclude<keyof Logger, "child">;

/** Creates a logger that passes the messages of all levels to one function. */
export function createLogger(
  log: (level: LogLevel, message: string, fields?: LogFields) => void,
  child: (fields: LogFields) => Logger,
): Logger {
  return {
    trace: (message, fields) => log("trace", message, fields),
    debug: (message, fields) => log("debug", message, fields),
    info: (message, fields) => log("info", message, fields),
    warn: (message, fields) => log("warn", message, fields),
    error: (message, fields) => log("error", message, fields),
    fatal: (message, fields) => log("fatal", message, fields),
    child,
  };
}

/** `err` is an Error; the field names `request_id`, `instance`, `host`, `node` and `migration` are fixed. */
export type LogFields = Readonly<Record<string, unknown>>;

/** All interfaces to the operating system and the network. Agents, drivers and embedded services use nothing else. */
export interface Runtime {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly http: HttpClient;
  readonly transfers: Transfers;
  readonly servers: Servers;
  readonly sockets: Sockets;
  readonly streams: Streams;
  readonly files: Files;
  readonly modules: Modules;
  readonly processes: Processes;
  readonly programs: Programs;
  readonly logger: Logger;
}

/** Associates running code, and everything that it starts (timers, promises, listeners), with an owner. */
export interface Scope<T> {
  /** Undefined outside any owner. */
  readonly current: T | undefined;
  run<R>(owner: T, work: () => R): R;
  /** Runs `work` without an owner. */
  leave<R>(work: () => R): R;
}
