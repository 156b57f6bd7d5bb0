import type { Clock } from "./clock.js";
import type { Files } from "./files.js";
import type { HttpClient } from "./http.js";
import type { Logger } from "./logger.js";
import type { Modules } from "./modules.js";
import type { Processes } from "./processes.js";
import type { Programs } from "./programs.js";
import type { Random } from "./random.js";
import type { Servers } from "./server.js";
import type { Sockets } from "./socket.js";
import type { Streams } from "./streams.js";
import type { Timers } from "./timers.js";
import type { Transfers } from "./transfers.js";

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
