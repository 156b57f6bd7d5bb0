import { type ProcessIdentity, type Stream, StreamFailure, type Streams, type Timers } from "../../src/virt/index.js";
import { MONITOR } from "./definition.js";
import { parsed } from "./hypervisor-folder.js";
import { QemuError } from "./qemu-error.js";

/** Runs one task per guest at a time, in the order of arrival. */
export class GuestLock {
  readonly #last = new Map<string, Promise<unknown>>();

  async own<T>(uuid: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(uuid) ?? Promise.resolve();
    const own = before.then(work, work);
    this.#last.set(uuid, own);
    try {
      return await own;
    } finally {
      if (this.#last.get(uuid) === own) {
        this.#last.delete(uuid);
      }
    }
  }
}

/** Milliseconds for each reply of QEMU. */
const QMP_REPLY_TIMEOUT_MS = 30_000;

/** QEMU rejected a command. */
class QmpError extends Error {
  override readonly name = "QmpError";
  readonly code: string;

  constructor(command: string, code: string, description: string) {
    super(`QEMU rejected ${command}: ${description} (${code})`);
    this.code = code;
  }
}

/** Returns whether the monitor is gone because its QEMU has ended. */
export function isEnd(error: unknown): boolean {
  return error instanceof StreamFailure || (error instanceof QmpError && error.code === "Disconnected");
}

/** Runs a command on a guest's QEMU. @throws {QmpError} {StreamFailure} */
export type Execute = (command: string, args?: Readonly<Record<string, unknown>>) => Promise<unknown>;

/** A QEMU process and the guest that it runs. */
export interface GuestProcess extends ProcessIdentity {
  readonly uuid: string;
}

/**
 * The monitors of guests. Sessions are short, since a monitor serves one client at a time. The socket's path leads
 * through the process's own folder in /proc, so it is never too long and never another process's.
 */
export class Monitors {
  readonly #sockets: Streams;
  readonly #timers: Timers;
  readonly #lock = new GuestLock();
  /** Processes whose guest has been verified. */
  readonly #proven = new Set<string>();

  constructor(sockets: Streams, timers: Timers) {
    this.#sockets = sockets;
    this.#timers = timers;
  }

  /** @throws {StreamFailure} there is no reply, as when QEMU has just begun. {@link QemuError} {@link QmpError} */
  async use<T>(qemu: GuestProcess, work: (execute: Execute) => Promise<T>, signal?: AbortSignal): Promise<T> {
    const { pid, started, uuid } = qemu;
    return this.#lock.own(`${pid}`, async () => {
      const stream = await this.#sockets.connect({ path: `/proc/${pid}/cwd/${MONITOR}` }, { signal });
      try {
        const execute: Execute = (command, args) => this.#execute(stream, command, args, signal);
        await this.#line(stream, signal);
        await execute("qmp_capabilities");
        const key = `${pid} ${started}`;
        if (!this.#proven.has(key)) {
          await prove(uuid, pid, execute);
          this.#proven.add(key);
        }
        return await work(execute);
      } finally {
        stream.close();
      }
    });
  }

  async #execute(
    stream: Stream,
    command: string,
    args: Readonly<Record<string, unknown>> | undefined,
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    await stream.write(`${JSON.stringify({ execute: command, ...(args ? { arguments: args } : {}) })}\n`);
    for (;;) {
      const reply = await this.#line(stream, signal);
      if ("return" in reply) {
        return reply.return;
      }
      if ("error" in reply) {
        const { class: code, desc } = reply.error as { readonly class?: unknown; readonly desc?: unknown };
        throw new QmpError(command, String(code), String(desc));
      }
    }
  }

  /** Reads the next message, which may be an event. */
  async #line(stream: Stream, signal: AbortSignal | undefined): Promise<Record<string, unknown>> {
    const late = new AbortController();
    const cancel = this.#timers.after(QMP_REPLY_TIMEOUT_MS, () =>
      late.abort(new Error(`QEMU did not respond within ${QMP_REPLY_TIMEOUT_MS} ms`)),
    );
    try {
      const line = await stream.readLine(signal ? AbortSignal.any([signal, late.signal]) : late.signal);
      const message = line === null ? undefined : parsed(line);
      if (typeof message !== "object" || message === null) {
        throw new QmpError(
          "further commands",
          "Disconnected",
          line === null ? "it has closed its monitor" : line.slice(0, 80),
        );
      }
      return message as Record<string, unknown>;
    } finally {
      cancel();
    }
  }
}

/** @throws {QemuError} */
async function prove(uuid: string, pid: number, execute: Execute): Promise<void> {
  const { UUID: found } = (await execute("query-uuid")) as { readonly UUID?: unknown };
  if (found !== uuid) {
    throw new QemuError(
      "WrongGuest",
      `process ${pid} should run guest ${uuid}, but its monitor reports guest ${String(found)}`,
    );
  }
}
