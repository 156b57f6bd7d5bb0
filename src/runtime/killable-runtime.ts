import type { FileStat, Files } from "./files.js";
import type { Bytes, HttpClient, HttpRequest, Transfer, TransferResponse, Transfers } from "./http.js";
import type { Life } from "./lifetime.js";
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
export function createKillableRuntime(runtime: Runtime, life: Life): Runtime {
  return {
    ...runtime,
    timers: new KillableTimers(runtime.timers, life),
    http: new KillableHttp(runtime.http, life),
    transfers: new KillableTransfers(runtime.transfers, life),
    sockets: new KillableSockets(runtime.sockets, life),
    streams: new KillableStreams(runtime.streams, life),
    files: new KillableFiles(runtime.files, life),
    programs: new KillablePrograms(runtime.programs, life),
    logger: new KillableLogger(runtime.logger, life),
  };
}

/** Classes, since a process may have thousands of lifetimes: closures would take some kilobytes per host. */
class KillableTimers implements Timers {
  readonly #timers: Timers;
  readonly #life: Life;

  constructor(timers: Timers, life: Life) {
    this.#timers = timers;
    this.#life = life;
  }

  after(milliseconds: number, action: () => void): CancelTimer {
    const life = this.#life;
    if (!life.alive) {
      return () => {};
    }
    const cancel = this.#timers.after(milliseconds, () => {
      life.forget(cancel);
      action();
    });
    return life.untilKill(cancel);
  }

  sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.#life.whileAlive(() => sleepBy((...timed) => this.after(...timed), milliseconds, signal));
  }
}

class KillableHttp implements HttpClient {
  readonly #http: HttpClient;
  readonly #life: Life;

  constructor(http: HttpClient, life: Life) {
    this.#http = http;
    this.#life = life;
  }

  /** A request that waits for a connection must not be sent after the end. */
  request(request: HttpRequest) {
    return this.#life.bounded(request.signal, (signal) => this.#http.request({ ...request, signal }));
  }

  close() {
    return this.#http.close();
  }
}

class KillableTransfers implements Transfers {
  readonly #transfers: Transfers;
  readonly #life: Life;

  constructor(transfers: Transfers, life: Life) {
    this.#transfers = transfers;
    this.#life = life;
  }

  send(transfer: Transfer): Promise<TransferResponse> {
    const life = this.#life;
    return life.whileAlive(async () => {
      const { body } = transfer;
      // The signal also applies to the response body, so it must outlive this call.
      const response = await this.#transfers.send({
        ...transfer,
        signal: transfer.signal === undefined ? life.signal : AbortSignal.any([transfer.signal, life.signal]),
        ...(body === undefined ? {} : { body: partsWhile(body, life) }),
      });
      return { ...response, body: partsWhile(response.body, life) };
    });
  }
}

/** Throws once the lifetime has ended, so that the reader ends as well and releases the parts. */
async function* partsWhile(bytes: Bytes, life: Life): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    life.signal.throwIfAborted();
    yield part;
  }
  life.signal.throwIfAborted();
}

class KillableSockets implements Sockets {
  readonly #sockets: Sockets;
  readonly #life: Life;

  constructor(sockets: Sockets, life: Life) {
    this.#sockets = sockets;
    this.#life = life;
  }

  connect(...[url, options = {}]: Parameters<Sockets["connect"]>) {
    return this.#life.bounded(options.signal, async (signal) => {
      const socket: Socket = await this.#sockets.connect(url, { ...options, signal });
      const terminate = () => socket.terminate();
      this.#life.onKill(terminate);
      socket.onClose(() => this.#life.forget(terminate));
      return socket;
    });
  }
}

class KillableStreams implements Streams {
  readonly #streams: Streams;
  readonly #life: Life;

  constructor(streams: Streams, life: Life) {
    this.#streams = streams;
    this.#life = life;
  }

  connect(...[address, options = {}]: Parameters<Streams["connect"]>) {
    return this.#life.bounded(options.signal, async (signal) => {
      const stream = await this.#streams.connect(address, { signal });
      if (!this.#life.alive) {
        stream.close();
      }
      return createKillableStream(stream, this.#life);
    });
  }
}

function createKillableStream(stream: Stream, life: Life): Stream {
  const close = life.untilKill(() => stream.close());
  return {
    write: (data) => life.whileAlive(() => stream.write(data)),
    read: (signal) => life.whileAlive(() => stream.read(signal)),
    readLine: (signal) => life.whileAlive(() => stream.readLine(signal)),
    close,
  };
}

class KillableFiles implements Files {
  readonly #files: Files;
  readonly #life: Life;

  constructor(files: Files, life: Life) {
    this.#files = files;
    this.#life = life;
  }

  read(path: string) {
    return this.#life.whileAlive(() => this.#files.read(path));
  }

  readIfPresent(path: string) {
    return this.#life.whileAlive(() => this.#files.readIfPresent(path));
  }

  readBytes(path: string) {
    return this.#life.whileAlive(async () => partsWhile(await this.#files.readBytes(path), this.#life));
  }

  list(path: string) {
    return this.#life.whileAlive(() => this.#files.list(path));
  }

  stat(path: string): Promise<FileStat | undefined> {
    return this.#life.whileAlive(() => this.#files.stat(path));
  }

  write(...written: Parameters<Files["write"]>) {
    return this.#life.finished(() => this.#files.write(...written));
  }

  create(...created: Parameters<Files["create"]>) {
    return this.#life.finished(() => this.#files.create(...created));
  }

  writeBytes(...[path, bytes, options]: Parameters<Files["writeBytes"]>) {
    return this.#life.finished(() => this.#files.writeBytes(path, partsWhile(bytes, this.#life), options));
  }

  append(path: string, text: string) {
    return this.#life.finished(() => this.#files.append(path, text));
  }

  truncate(path: string, bytes: number) {
    return this.#life.finished(() => this.#files.truncate(path, bytes));
  }

  rename(from: string, to: string) {
    return this.#life.finished(() => this.#files.rename(from, to));
  }

  remove(path: string) {
    return this.#life.finished(() => this.#files.remove(path));
  }

  makeFolder(...made: Parameters<Files["makeFolder"]>) {
    return this.#life.finished(() => this.#files.makeFolder(...made));
  }

  watch(...watched: Parameters<Files["watch"]>) {
    if (!this.#life.alive) {
      return () => {};
    }
    return this.#life.untilKill(this.#files.watch(...watched));
  }
}

class KillablePrograms implements Programs {
  readonly #programs: Programs;
  readonly #life: Life;

  constructor(programs: Programs, life: Life) {
    this.#programs = programs;
    this.#life = life;
  }

  start(options: StartOptions) {
    return this.#life.finished(() => this.#programs.start(options));
  }

  run(options: RunOptions) {
    return this.#life.whileAlive(() => this.#programs.run(options));
  }

  look(pid: number) {
    return this.#life.whileAlive(() => this.#programs.look(pid));
  }

  signal(process: ProcessIdentity, signal: ProgramSignal) {
    return this.#life.finished(() => this.#programs.signal(process, signal));
  }

  ended(process: ProcessIdentity, signal?: AbortSignal) {
    return this.#life.bounded(signal, (either) => this.#programs.ended(process, either));
  }
}

/** Logs nothing once the lifetime has ended. */
class KillableLogger implements Logger {
  readonly #logger: Logger;
  readonly #life: Life;

  constructor(logger: Logger, life: Life) {
    this.#logger = logger;
    this.#life = life;
  }

  trace(message: string, fields?: LogFields): void {
    this.#say("trace", message, fields);
  }

  debug(message: string, fields?: LogFields): void {
    this.#say("debug", message, fields);
  }

  info(message: string, fields?: LogFields): void {
    this.#say("info", message, fields);
  }

  warn(message: string, fields?: LogFields): void {
    this.#say("warn", message, fields);
  }

  error(message: string, fields?: LogFields): void {
    this.#say("error", message, fields);
  }

  fatal(message: string, fields?: LogFields): void {
    this.#say("fatal", message, fields);
  }

  child(fields: LogFields): Logger {
    return new KillableLogger(this.#logger.child(fields), this.#life);
  }

  #say(level: Exclude<keyof Logger, "child">, message: string, fields: LogFields | undefined): void {
    if (this.#life.alive) {
      this.#logger[level](message, fields);
    }
  }
}
