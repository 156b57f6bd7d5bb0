import type { Files } from "./files.js";
import type { Bytes, HttpClient, Transfers } from "./http.js";
import type { Lifetime } from "./lifetime.js";
import type { Programs } from "./processes.js";
import { createLogger, type Logger, type Runtime } from "./runtime.js";
import type { Sockets } from "./sockets.js";
import type { Stream, Streams } from "./streams.js";
import { sleepBy, type Timers } from "./time.js";

/**
 * Limits a runtime to one lifetime. Once that has ended, nothing gets out or in: timers do not fire, waiting requests
 * are not sent, streams are closed, and awaited promises never settle. A file write in progress is completed and
 * started programs continue to run, as after `kill -9` of a process.
 */
export function createKillableRuntime(runtime: Runtime, lifetime: Lifetime): Runtime {
  return {
    ...runtime,
    timers: killableTimers(runtime.timers, lifetime),
    http: killableHttp(runtime.http, lifetime),
    transfers: killableTransfers(runtime.transfers, lifetime),
    sockets: killableSockets(runtime.sockets, lifetime),
    streams: killableStreams(runtime.streams, lifetime),
    files: killableFiles(runtime.files, lifetime),
    programs: killablePrograms(runtime.programs, lifetime),
    logger: killableLogger(runtime.logger, lifetime),
  };
}

function killableTimers(timers: Timers, lifetime: Lifetime): Timers {
  const after: Timers["after"] = (milliseconds, action) => {
    if (!lifetime.alive) {
      return () => {};
    }
    const cancel = timers.after(milliseconds, () => {
      lifetime.forget(cancel);
      action();
    });
    return lifetime.untilKill(cancel);
  };
  return { after, sleep: (milliseconds, signal) => lifetime.whileAlive(() => sleepBy(after, milliseconds, signal)) };
}

function killableHttp(http: HttpClient, lifetime: Lifetime): HttpClient {
  return {
    // A request that waits for a connection must not be sent after the end.
    request: (request) => lifetime.bounded(request.signal, (signal) => http.request({ ...request, signal })),
    close: () => http.close(),
  };
}

function killableTransfers(transfers: Transfers, lifetime: Lifetime): Transfers {
  return {
    send: (transfer) =>
      lifetime.whileAlive(async () => {
        const { body, signal } = transfer;
        // The signal also applies to the response body, so it must outlive this call.
        const response = await transfers.send({
          ...transfer,
          signal: signal === undefined ? lifetime.signal : AbortSignal.any([signal, lifetime.signal]),
          ...(body === undefined ? {} : { body: partsWhile(body, lifetime) }),
        });
        return { ...response, body: partsWhile(response.body, lifetime) };
      }),
  };
}

/** Throws once the lifetime has ended, so that the reader ends as well and releases the parts. */
async function* partsWhile(bytes: Bytes, lifetime: Lifetime): AsyncGenerator<Uint8Array> {
  for await (const part of bytes) {
    lifetime.signal.throwIfAborted();
    yield part;
  }
  lifetime.signal.throwIfAborted();
}

function killableSockets(sockets: Sockets, lifetime: Lifetime): Sockets {
  return {
    connect: (url, options = {}) =>
      lifetime.bounded(options.signal, async (signal) => {
        const socket = await sockets.connect(url, { ...options, signal });
        const terminate = () => socket.terminate();
        lifetime.onKill(terminate);
        socket.onClose(() => lifetime.forget(terminate));
        return socket;
      }),
  };
}

function killableStreams(streams: Streams, lifetime: Lifetime): Streams {
  return {
    connect: (address, options = {}) =>
      lifetime.bounded(options.signal, async (signal) => {
        const stream = await streams.connect(address, { signal });
        if (!lifetime.alive) {
          stream.close();
        }
        return killableStream(stream, lifetime);
      }),
  };
}

function killableStream(stream: Stream, lifetime: Lifetime): Stream {
  return {
    write: (data) => lifetime.whileAlive(() => stream.write(data)),
    read: (signal) => lifetime.whileAlive(() => stream.read(signal)),
    readLine: (signal) => lifetime.whileAlive(() => stream.readLine(signal)),
    close: lifetime.untilKill(() => stream.close()),
  };
}

function killableFiles(files: Files, lifetime: Lifetime): Files {
  return {
    read: (path) => lifetime.whileAlive(() => files.read(path)),
    readIfPresent: (path) => lifetime.whileAlive(() => files.readIfPresent(path)),
    readBytes: (path) => lifetime.whileAlive(async () => partsWhile(await files.readBytes(path), lifetime)),
    list: (path) => lifetime.whileAlive(() => files.list(path)),
    stat: (path) => lifetime.whileAlive(() => files.stat(path)),
    write: (path, text, options) => lifetime.finished(() => files.write(path, text, options)),
    create: (path, text, options) => lifetime.finished(() => files.create(path, text, options)),
    writeBytes: (path, bytes, options) =>
      lifetime.finished(() => files.writeBytes(path, partsWhile(bytes, lifetime), options)),
    append: (path, text) => lifetime.finished(() => files.append(path, text)),
    truncate: (path, bytes) => lifetime.finished(() => files.truncate(path, bytes)),
    rename: (from, to) => lifetime.finished(() => files.rename(from, to)),
    remove: (path) => lifetime.finished(() => files.remove(path)),
    makeFolder: (path, options) => lifetime.finished(() => files.makeFolder(path, options)),
    watch: (folder, listener) => (lifetime.alive ? lifetime.untilKill(files.watch(folder, listener)) : () => {}),
  };
}

function killablePrograms(programs: Programs, lifetime: Lifetime): Programs {
  return {
    start: (options) => lifetime.finished(() => programs.start(options)),
    run: (options) => lifetime.whileAlive(() => programs.run(options)),
    look: (pid) => lifetime.whileAlive(() => programs.look(pid)),
    signal: (process, signal) => lifetime.finished(() => programs.signal(process, signal)),
    ended: (process, signal) => lifetime.bounded(signal, (either) => programs.ended(process, either)),
  };
}

/** Logs nothing once the lifetime has ended. */
function killableLogger(logger: Logger, lifetime: Lifetime): Logger {
  return createLogger(
    (level, message, fields) => {
      if (lifetime.alive) {
        logger[level](message, fields);
      }
    },
    (fields) => killableLogger(logger.child(fields), lifetime),
  );
}
