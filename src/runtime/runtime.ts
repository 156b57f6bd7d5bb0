import type { Random } from "./cryptography.js";
import type { Files } from "./files.js";
import type { HttpClient, Transfers } from "./http.js";
import type { Servers } from "./http-server.js";
import type { Processes, Programs } from "./processes.js";
import type { Sockets } from "./sockets.js";
import type { Streams } from "./streams.js";
import type { Clock, Timers } from "./time.js";

/** Code that few need, loaded when it is first needed. */
export interface Modules {
  /**
   * @param load `() => import("./module.js")`
   * @throws what `load` throws
   */
  load<T>(load: () => Promise<T>): Promise<T>;
}

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

/** Every door to the outside world. Agents, drivers and embedded services reach it through nothing else. */
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

/** What the code that runs belongs to: it, and everything that it starts, such as timers, promises and listeners. */
export interface Scope<T> {
  /** Undefined: nobody's. */
  readonly current: T | undefined;
  run<R>(owner: T, work: () => R): R;
  /** Runs what is nobody's in the middle of somebody's. */
  leave<R>(work: () => R): R;
}
