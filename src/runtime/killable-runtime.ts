import type { FileStat, Files } from "./files.js";
import type { Bytes, HttpClient, HttpRequest, Transfer, TransferResponse, Transfers } from "./http.js";
import { LevelLogger, type LogLevel } from "./level-logger.js";
import type { Lifetime } from "./lifetime.js";
import type { ProcessIdentity, ProgramSignal, Programs, RunOptions, StartOptions } from "./processes.js";
import type { LogFields, Logger, Runtime } from "./runtime.js";
import type { Socket, Sockets } from "./sockets.js";
import type { Stream, Streams } from "./streams.js";
import { type CancelTimer, sleepBy, type Timers } from "./time.js";

/**
 * Limits a runtime to one lifetime. Once that has ended, nothing gets out or in: timers do not fire, waiting requests
 * are not sent, streams are closed, and awaited promises never settle. A file write in progress is completed and
 * started programs continue to run, as after `kill -9` of a process.
 */
export function createKillableRuntime(runtime: Runtime, lifetime: Lifetime): Runtime {
  return {
    ...runtime,
    timers: new KillableTimers(runtime.timers, lifetime),
    http: new KillableHttp(runtime.http, lifetime),
    transfers: new KillableTransfers(runtime.transfers, lifetime),
    sockets: new KillableSockets(runtime.sockets, lifetime),
    streams: new KillableStreams(runtime.streams, lifetime),
    files: new KillableFiles(runtime.files, lifetime),
    programs: new KillablePrograms(runtime.programs, lifetime),
    logger: new KillableLogger(runtime.logger, lifetime),
  };
}

/** Classes, since a process may have thousands of lifetimes: closures would take some kilobytes per host. */
class KillableTimers implements Timers {
  readonly #timers: Timers;
  readonly #lifetime: Lifetime;

  constructor(timers: Timers, lifetime: Lifetime) {
    this.#timers = timers;
    this.#lifetime = lifetime;
  }

  after(milliseconds: number, action: () => void): CancelTimer {
    const lifetime = this.#lifetime;
    if (!lifetime.alive) {
      return () => {};
    }
    const cancel = this.#timers.after(milliseconds, () => {
      lifetime.forget(cancel);
      action();
    });
    return lifetime.untilKill(cancel);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#lifetime.whileAlive(() => sleepBy((...timed) => this.after(...timed), milliseconds, signal));
  }
}

class KillableHttp implements HttpClient {
  readonly #http: HttpClient;
  readonly #lifetime: Lifetime;

  constructor(http: HttpClient, lifetime: Lifetime) {
    this.#http = http;
    this.#lifetime = lifetime;
  }

  /** A request that waits for a connection must not be sent after the end. */
  request(request: HttpRequest) {
    return this.#lifetime.bounded(request.signal, (signal) => this.#http.request({ ...request, signal }));
  }

  close() {
    return this.#http.close();
  }
}

class KillableTransfers implements Transfers {
  readonly #transfers: Transfers;
  readonly #lifetime: Lifetime;

  constructor(transfers: Transfers, lifetime: Lifetime) {
    this.#transfers = transfers;
    this.#lifetime = lifetime;
  }

  send(transfer: Transfer): Promise<TransferResponse> {
    const lifetime = this.#lifetime;
    return lifetime.whileAlive(async () => {
      const { body } = transfer;
      // The signal also applies to the response body, so it must outlive this call.
      const response = await this.#transfers.send({
        ...transfer,
        signal: transfer.signal === undefined ? lifetime.signal : AbortSignal.any([transfer.signal, lifetime.signal]),
        ...(body === undefined ? {} : { body: partsWhile(body, lifetime) }),
      });
      return { ...response, body: partsWhile(response.body, lifetime) };
    });
  }
}

/** Throws once the lifetime has ended, so that the reader ends as well and releases the parts. */
async function* partsWhile(bytes: Bytes, lifetime: Lifetime): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    lifetime.signal.throwIfAborted();
    yield part;
  }
  lifetime.signal.throwIfAborted();
}

class KillableSockets implements Sockets {
  readonly #sockets: Sockets;
  readonly #lifetime: Lifetime;

  constructor(sockets: Sockets, lifetime: Lifetime) {
    this.#sockets = sockets;
    this.#lifetime = lifetime;
  }

  connect(...[url, options = {}]: Parameters<Sockets["connect"]>) {
    return this.#lifetime.bounded(options.signal, async (signal) => {
      const socket: Socket = await this.#sockets.connect(url, { ...options, signal });
      const terminate = () => socket.terminate();
      this.#lifetime.onKill(terminate);
      socket.onClose(() => this.#lifetime.forget(terminate));
      return socket;
    });
  }
}

class KillableStreams implements Streams {
  readonly #streams: Streams;
  readonly #lifetime: Lifetime;

  constructor(streams: Streams, lifetime: Lifetime) {
    this.#streams = streams;
    this.#lifetime = lifetime;
  }

  connect(...[address, options = {}]: Parameters<Streams["connect"]>) {
    return this.#lifetime.bounded(options.signal, async (signal) => {
      const stream = await this.#streams.connect(address, { signal });
      if (!this.#lifetime.alive) {
        stream.close();
      }
      return createKillableStream(stream, this.#lifetime);
    });
  }
}

function createKillableStream(stream: Stream, lifetime: Lifetime): Stream {
  const close = lifetime.untilKill(() => stream.close());
  return {
    write: (data) => lifetime.whileAlive(() => stream.write(data)),
    read: (signal) => lifetime.whileAlive(() => stream.read(signal)),
    readLine: (signal) => lifetime.whileAlive(() => stream.readLine(signal)),
    close,
  };
}

class KillableFiles implements Files {
  readonly #files: Files;
  readonly #lifetime: Lifetime;

  constructor(files: Files, lifetime: Lifetime) {
    this.#files = files;
    this.#lifetime = lifetime;
  }

  read(path: string) {
    return this.#lifetime.whileAlive(() => this.#files.read(path));
  }

  readIfPresent(path: string) {
    return this.#lifetime.whileAlive(() => this.#files.readIfPresent(path));
  }

  readBytes(path: string) {
    return this.#lifetime.whileAlive(async () => partsWhile(await this.#files.readBytes(path), this.#lifetime));
  }

  list(path: string) {
    return this.#lifetime.whileAlive(() => this.#files.list(path));
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#lifetime.whileAlive(() => this.#files.stat(path));
  }

  write(...written: Parameters<Files["write"]>) {
    return this.#lifetime.finished(() => this.#files.write(...written));
  }

  create(...created: Parameters<Files["create"]>) {
    return this.#lifetime.finished(() => this.#files.create(...created));
  }

  writeBytes(...[path, bytes, options]: Parameters<Files["writeBytes"]>) {
    return this.#lifetime.finished(() => this.#files.writeBytes(path, partsWhile(bytes, this.#lifetime), options));
  }

  append(path: string, text: string) {
    return this.#lifetime.finished(() => this.#files.append(path, text));
  }

  truncate(path: string, bytes: number) {
    return this.#lifetime.finished(() => this.#files.truncate(path, bytes));
  }

  rename(from: string, to: string) {
    return this.#lifetime.finished(() => this.#files.rename(from, to));
  }

  remove(path: string) {
    return this.#lifetime.finished(() => this.#files.remove(path));
  }

  makeFolder(...made: Parameters<Files["makeFolder"]>) {
    return this.#lifetime.finished(() => this.#files.makeFolder(...made));
  }

  watch(...watched: Parameters<Files["watch"]>) {
    if (!this.#lifetime.alive) {
      return () => {};
    }
    return this.#lifetime.untilKill(this.#files.watch(...watched));
  }
}

class KillablePrograms implements Programs {
  readonly #programs: Programs;
  readonly #lifetime: Lifetime;

  constructor(programs: Programs, lifetime: Lifetime) {
    this.#programs = programs;
    this.#lifetime = lifetime;
  }

  start(options: StartOptions) {
    return this.#lifetime.finished(() => this.#programs.start(options));
  }

  run(options: RunOptions) {
    return this.#lifetime.whileAlive(() => this.#programs.run(options));
  }

  look(pid: number) {
    return this.#lifetime.whileAlive(() => this.#programs.look(pid));
  }

  signal(process: ProcessIdentity, signal: ProgramSignal) {
    return this.#lifetime.finished(() => this.#programs.signal(process, signal));
  }

  ended(process: ProcessIdentity, signal?: AbortSignal) {
    return this.#lifetime.bounded(signal, (either) => this.#programs.ended(process, either));
  }
}

/** Logs nothing once the lifetime has ended. */
class KillableLogger extends LevelLogger {
  readonly #logger: Logger;
  readonly #lifetime: Lifetime;

  constructor(logger: Logger, lifetime: Lifetime) {
    super();
    this.#logger = logger;
    this.#lifetime = lifetime;
  }

  child(fields: LogFields): Logger {
    return new KillableLogger(this.#logger.child(fields), this.#lifetime);
  }

  log(level: LogLevel, message: string, fields?: LogFields): void {
    if (this.#lifetime.alive) {
      this.#logger[level](message, fields);
    }
  }
}
