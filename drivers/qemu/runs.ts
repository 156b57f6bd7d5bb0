import { join } from "node:path";
import {
  type DriverContext,
  FileFailure,
  type ObservedProcess,
  type ProcessIdentity,
  StreamFailure,
} from "../../src/virt/index.js";
import type { QemuConfig } from "./config.js";
import { commandLine, type Definition, PID_FILE } from "./definition.js";
import { type Layout, type LeaseCheck, parsed } from "./hypervisor-folder.js";
import type { GuestProcess, Monitors } from "./monitor.js";
import { QemuError } from "./qemu-error.js";

/** File in a run's folder that identifies its process. */
export const RECORD = "process.json";
const LOG = "log";
/** Milliseconds for QEMU to end after SIGTERM, during which it flushes its disks. */
const LAST_WRITES = 10_000;
/** Milliseconds for a process to end after SIGKILL. */
const KILLED = 30_000;
/** Milliseconds between two attempts to connect to a QEMU that has just begun. */
const TRY = 20;

interface Parts {
  readonly context: DriverContext;
  readonly config: QemuConfig;
  readonly layout: Layout;
  readonly lease: LeaseCheck;
  readonly monitors: Monitors;
}

/**
 * The QEMU processes of guests, which outlive the agent. The next agent finds each by the record of its pid and start
 * time. If the agent was killed before it wrote the record, the process is found by QEMU's pid file and its command
 * line.
 */
export class Runs {
  readonly #parts: Parts;
  #kvm = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Sets the accelerator of guests started from now on. */
  useKvm(kvm: boolean): void {
    this.#kvm = kvm;
  }

  /** Returns the guest's process, or undefined if it does not run. */
  async find(uuid: string): Promise<GuestProcess | undefined> {
    return this.#findIn(this.#parts.layout.run(uuid), uuid);
  }

  /**
   * Starts the guest, replacing any process of it, and waits until its monitor responds.
   * @param incoming source of the guest's memory. @throws {QemuError} {@link HostEpochOutdated}
   */
  async start(definition: Definition, signal?: AbortSignal, incoming?: string): Promise<GuestProcess> {
    const { context, config, layout, lease } = this.#parts;
    const { uuid } = definition;
    await this.end(uuid, signal);
    await lease.assertCurrentEpoch();
    const folder = layout.run(uuid);
    await context.files.makeFolder(folder, { mode: 0o700 });
    const started = await context.processes.start({
      argv: commandLine({ binary: config.binary, kvm: this.#kvm, definition, layout, incoming }),
      cwd: folder,
      logFile: join(folder, LOG),
    });
    await context.files.write(join(folder, RECORD), `${JSON.stringify(started)}\n`);
    const qemu = { ...started, uuid };
    try {
      await this.#awaitMonitor(qemu, signal);
    } catch (error) {
      const words = await this.#lastWords(uuid);
      await this.end(uuid).catch(() => {});
      signal?.throwIfAborted();
      throw new QemuError("GuestDidNotStart", `guest ${definition.name} (${uuid}) did not start: ${words}`, {
        cause: error,
      });
    }
    return qemu;
  }

  /** Ends all processes of the guest, including one that a killed agent was starting. Succeeds if there are none. */
  async end(uuid: string, signal?: AbortSignal): Promise<void> {
    const { context, layout, lease } = this.#parts;
    const { files, random } = context;
    const running = await this.find(uuid);
    if (running) {
      await lease.assertCurrentEpoch();
      await this.terminate(running, signal);
    }
    // A QEMU that is about to write its pid either no longer finds its folder, or wrote it before the folder was
    // renamed.
    if (await files.stat(layout.run(uuid))) {
      await lease.assertCurrentEpoch();
      await ignoreAbsent(files.rename(layout.run(uuid), `${layout.run(uuid)}.${random.hex(4)}`));
    }
    for (const name of await files.list(layout.runs)) {
      if (name.startsWith(`${uuid}.`)) {
        const folder = join(layout.runs, name);
        const left = await this.#findIn(folder, uuid);
        if (left) {
          await this.kill(left, signal);
        }
        await files.remove(folder);
      }
    }
  }

  /** Ends QEMU cleanly, so that it flushes its disks, and kills it if it does not end in time. */
  async terminate(qemu: ProcessIdentity, signal?: AbortSignal): Promise<void> {
    const { processes } = this.#parts.context;
    await processes.signal(qemu, "SIGTERM");
    if (!(await this.endsWithin(qemu, LAST_WRITES, signal))) {
      await this.kill(qemu, signal);
    }
  }

  /** @throws {QemuError} */
  async kill(qemu: ProcessIdentity, signal?: AbortSignal): Promise<void> {
    await this.#parts.context.processes.signal(qemu, "SIGKILL");
    if (!(await this.endsWithin(qemu, KILLED, signal))) {
      throw new QemuError(
        "GuestDoesNotEnd",
        `QEMU's process ${qemu.pid} still exists ${KILLED / 1000} s after SIGKILL: the machine's kernel has not ended it. ` +
          `See /proc/${qemu.pid}/status and the kernel's log, and try again`,
      );
    }
  }

  /** Returns false if the process has not ended in time. @throws the signal's reason. */
  async endsWithin(qemu: ProcessIdentity, milliseconds: number, signal?: AbortSignal): Promise<boolean> {
    const { processes, timers } = this.#parts.context;
    const late = new AbortController();
    const cancel = timers.after(milliseconds, () => late.abort());
    try {
      await processes.ended(qemu, signal ? AbortSignal.any([signal, late.signal]) : late.signal);
      return true;
    } catch (error) {
      signal?.throwIfAborted();
      if (late.signal.aborted) {
        return false;
      }
      throw error;
    } finally {
      cancel();
    }
  }

  async #findIn(folder: string, uuid: string): Promise<GuestProcess | undefined> {
    const { files, processes } = this.#parts.context;
    const record = await files.readIfPresent(join(folder, RECORD));
    const known = record === undefined ? undefined : identityIn(record);
    if (known) {
      const observed = await processes.look(known.pid);
      return observed?.started === known.started ? { ...known, uuid } : undefined;
    }
    const pid = Number(await files.readIfPresent(join(folder, PID_FILE)));
    const observed = Number.isSafeInteger(pid) && pid > 0 ? await processes.look(pid) : undefined;
    return observed && this.#isRunOf(observed, uuid) ? { pid, started: observed.started, uuid } : undefined;
  }

  #isRunOf({ argv }: ObservedProcess, uuid: string): boolean {
    return argv[argv.indexOf("-pidfile") + 1] === join(this.#parts.layout.run(uuid), PID_FILE);
  }

  async #awaitMonitor(qemu: GuestProcess, signal: AbortSignal | undefined): Promise<void> {
    const { context, config, monitors } = this.#parts;
    const { processes, timers, clock } = context;
    const deadline = clock.monotonic() + config.startTimeout * 1000;
    for (;;) {
      try {
        return await monitors.use(qemu, async () => {}, signal);
      } catch (error) {
        const ended = (await processes.look(qemu.pid))?.started !== qemu.started;
        if (ended || !(error instanceof StreamFailure) || clock.monotonic() > deadline) {
          throw error;
        }
      }
      await timers.sleep(TRY, signal);
    }
  }

  async #lastWords(uuid: string): Promise<string> {
    const log = await this.#parts.context.files.readIfPresent(join(this.#parts.layout.run(uuid), LOG)).catch(() => "");
    return (log ?? "").trim().split("\n").slice(-3).join("; ").slice(-500) || "QEMU printed nothing";
  }
}

async function ignoreAbsent(work: Promise<void>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof FileFailure && error.code === "ENOENT")) {
      throw error;
    }
  }
}

function identityIn(text: string): ProcessIdentity | undefined {
  const value = parsed(text);
  if (typeof value !== "object" || value === null || !("pid" in value) || !("started" in value)) {
    return undefined;
  }
  const { pid, started } = value;
  return typeof pid === "number" && typeof started === "string" ? { pid, started } : undefined;
}
