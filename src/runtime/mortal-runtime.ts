import type { FileStat, Files } from "./files.js";
import type { HttpClient } from "./http.js";
import type { Life } from "./life.js";
import type { LogFields, Logger } from "./logger.js";
import type { ProcessIdentity, Programs } from "./programs.js";
import type { Runtime } from "./runtime.js";
import { sleepBy } from "./sleep-by.js";
import type { Socket, Sockets } from "./socket.js";
import type { Stream, Streams } from "./streams.js";
import type { CancelTimer, Timers } from "./timers.js";
import type { Bytes, Transfers } from "./transfers.js";

/**
 * The same doors, for one life: once it has ended, nothing goes out through them and nothing comes in. Timers do not fire, requests
 * that wait are not sent, streams are closed, and a promise that is waited for never settles. A file that was being written is
 * written to its end, and a program that was started runs on, as after `kill -9` of a process.
 */
export function mortalRuntime(runtime: Runtime, life: Life): Runtime {
  return {
    ...runtime,
    timers: mortalTimers(runtime.timers, life),
    http: mortalHttp(runtime.http, life),
    transfers: mortalTransfers(runtime.transfers, life),
    sockets: mortalSockets(runtime.sockets, life),
    streams: mortalStreams(runtime.streams, life),
    files: new MortalFiles(runtime.files, life),
    programs: mortalPrograms(runtime.programs, life),
    logger: new MortalLogger(runtime.logger, life),
  };
}

function mortalTimers(timers: Timers, life: Life): Timers {
  const after = (milliseconds: number, action: () => void): CancelTimer => {
    if (!life.alive) {
      return () => {};
    }
    const cancel = timers.after(milliseconds, () => {
      forget();
      action();
    });
    const forget = life.onKill(cancel);
    return () => {
      forget();
      cancel();
    };
  };
  return {
    after,
    sleep: (milliseconds, signal) => life.whileAlive(() => sleepBy(after, milliseconds, signal)),
  };
}

function mortalHttp(http: HttpClient, life: Life): HttpClient {
  return {
    // A request that waits for a connection must not go out after the end.
    request: (request) => life.bounded(request.signal, (signal) => http.request({ ...request, signal })),
    close: () => http.close(),
  };
}

function mortalTransfers(transfers: Transfers, life: Life): Transfers {
  return {
    send: (transfer) =>
      life.whileAlive(async () => {
        const { body } = transfer;
        // Its signal is the answer's, too, and outlives this.
        const answer = await transfers.send({
          ...transfer,
          signal: transfer.signal === undefined ? life.signal : AbortSignal.any([transfer.signal, life.signal]),
          ...(body === undefined ? {} : { body: partsWhile(body, life) }),
        });
        return { ...answer, body: partsWhile(answer.body, life) };
      }),
  };
}

/** Throws once the life has ended, so that who takes the parts ends too, and keeps none of them. */
async function* partsWhile(bytes: Bytes, life: Life): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    life.signal.throwIfAborted();
    yield part;
  }
  life.signal.throwIfAborted();
}

function mortalSockets(sockets: Sockets, life: Life): Sockets {
  return {
    connect: (url, options = {}) =>
      life.bounded(options.signal, async (signal) => {
        const socket: Socket = await sockets.connect(url, { ...options, signal });
        const forget = life.onKill(() => socket.terminate());
        socket.onClose(forget);
        return socket;
      }),
  };
}

function mortalStreams(streams: Streams, life: Life): Streams {
  return {
    connect: (address, options = {}) =>
      life.bounded(options.signal, async (signal) => {
        const stream = await streams.connect(address, { signal });
        if (!life.alive) {
          stream.close();
        }
        return mortalStream(stream, life);
      }),
  };
}

function mortalStream(stream: Stream, life: Life): Stream {
  const forget = life.onKill(() => stream.close());
  return {
    write: (data) => life.whileAlive(() => stream.write(data)),
    read: (signal) => life.whileAlive(() => stream.read(signal)),
    readLine: (signal) => life.whileAlive(() => stream.readLine(signal)),
    close: () => {
      forget();
      stream.close();
    },
  };
}

/** This and the next doors are classes, since a process may have thousands of lives: closures would take a host some kilobytes. */
class MortalFiles implements Files {
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
    const stop = this.#files.watch(...watched);
    const forget = this.#life.onKill(stop);
    return () => {
      forget();
      stop();
    };
  }
}

function mortalPrograms(programs: Programs, life: Life): Programs {
  return {
    start: (options) => life.finished(() => programs.start(options)),
    run: (options) => life.whileAlive(() => programs.run(options)),
    look: (pid) => life.whileAlive(() => programs.look(pid)),
    signal: (process, signal) => life.finished(() => programs.signal(process, signal)),
    ended: (process: ProcessIdentity, signal) => life.bounded(signal, (either) => programs.ended(process, either)),
  };
}

/** The dead are silent. */
class MortalLogger implements Logger {
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
    return new MortalLogger(this.#logger.child(fields), this.#life);
  }

  #say(level: Exclude<keyof Logger, "child">, message: string, fields: LogFields | undefined): void {
    if (this.#life.alive) {
      this.#logger[level](message, fields);
    }
  }
}
