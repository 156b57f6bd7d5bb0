import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, open, readFile } from "node:fs/promises";
import { hostname, networkInterfaces } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { FileFailure } from "../files.js";
import {
  type Child,
  type ChildExit,
  type Children,
  type ObservedProcess,
  type Processes,
  type ProcessIdentity,
  ProgramFailure,
  type ProgramResult,
  type ProgramSignal,
  type Programs,
  type RunOptions,
  type SpawnOptions,
  type StartOptions,
} from "../processes.js";

export function nodeProcesses(): Processes {
  const name = hostname();
  return { pid: process.pid, hostname: name, machine: `${name}:${bootId()}:${pidNamespace()}`, isAlive };
}

/**
 * Returns the kernel's id of this boot. On systems other than Linux, the MAC addresses distinguish machines of equal
 * names. Without any, a random id: no other process then counts as one of this machine.
 */
function bootId(): string {
  return readIfThere("/proc/sys/kernel/random/boot_id")?.trim() ?? networkCards() ?? randomUUID();
}

/** Returns undefined if there are none. */
function networkCards(): string | undefined {
  const cards = Object.values(networkInterfaces())
    .flatMap((interfaces = []) => interfaces)
    .filter(({ internal, mac }) => !internal && !/^[0:]*$/.test(mac))
    .map(({ mac }) => mac);
  return cards.length === 0 ? undefined : [...new Set(cards)].sort().join("+");
}

/** Returns the inode of the PID namespace, such as `4026531836`. Systems other than Linux have only one namespace. */
function pidNamespace(): string {
  try {
    return /\d+/.exec(readlinkSync("/proc/self/ns/pid"))?.[0] ?? "unknown-namespace";
  } catch {
    return "unknown-namespace";
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: the process exists but belongs to another user.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
  return !isZombie(pid);
}

/** A killed process remains as a zombie until its parent reaps it, which the init of many containers never does. */
function isZombie(pid: number): boolean {
  const status = readIfThere(`/proc/${pid}/stat`);
  // The command is in parentheses and may contain any character; the state follows the last parenthesis.
  const state = status?.slice(status.lastIndexOf(")") + 2, status.lastIndexOf(")") + 3);
  return state === "Z" || state === "X";
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Max characters of stdout and of stderr that are captured. */
const MAX_OUTPUT_CHARS = 1_048_576;

/** Poll interval in milliseconds for processes that this process did not start. */
const LOOK = 20;

/** Starts and observes programs on a Linux machine, through /proc. */
export class NodePrograms implements Programs {
  #boot: Promise<string> | undefined;

  async start({ argv, cwd, env, logFile }: StartOptions): Promise<ProcessIdentity> {
    const log = await attempt(`write ${logFile}`, async () => {
      await mkdir(dirname(logFile), { recursive: true });
      return open(logFile, "a", 0o600);
    });
    try {
      const child = launch(argv, { cwd, env, stdio: ["ignore", log.fd, log.fd], detached: true });
      await begun(child, argv);
      child.unref();
      const pid = child.pid ?? 0;
      // Node reaps its children, so /proc has no entry for one that has already ended.
      return (await this.look(pid)) ?? { pid, started: "ended" };
    } finally {
      await log.close();
    }
  }

  async run({ argv, cwd, env, signal }: RunOptions): Promise<ProgramResult> {
    signal?.throwIfAborted();
    const child = launch(argv, { cwd, env, stdio: ["ignore", "pipe", "pipe"], detached: true });
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name]?.setEncoding("utf8").on("data", (text: string) => {
        output[name] = (output[name] + text).slice(0, MAX_OUTPUT_CHARS);
      });
    }
    let stop = () => {};
    const closed = new Promise<number | null>((resolve, reject) => {
      child.once("close", resolve);
      stop = () => {
        abandon(child);
        reject(signal?.reason);
      };
    });
    closed.catch(() => {});
    signal?.addEventListener("abort", stop, { once: true });
    try {
      await begun(child, argv);
      const code = await closed;
      return { code, ...output };
    } finally {
      signal?.removeEventListener("abort", stop);
    }
  }

  async look(pid: number): Promise<ObservedProcess | undefined> {
    if (!Number.isSafeInteger(pid) || pid <= 0) {
      return undefined;
    }
    const [stat, command] = [await readIfPresent(`/proc/${pid}/stat`), await readIfPresent(`/proc/${pid}/cmdline`)];
    if (stat === undefined || command === undefined) {
      return undefined;
    }
    // The command is in parentheses and may contain any character. The state is the third field, the start time the
    // 22nd.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const [state, ticks] = [fields[0], fields[19]];
    if (state === "Z" || state === "X" || ticks === undefined) {
      return undefined;
    }
    this.#boot ??= readIfPresent("/proc/sys/kernel/random/boot_id").then((id) => id?.trim() ?? "unknown-boot");
    const argv = command.replace(/\0$/, "").split("\0");
    return { pid, started: `${await this.#boot}:${ticks}`, argv, ...(state === "T" ? { suspended: true } : {}) };
  }

  async signal(process: ProcessIdentity, signal: ProgramSignal): Promise<boolean> {
    if (!(await this.#isAlive(process))) {
      return false;
    }
    return attempt(`signal process ${process.pid}`, async () => {
      try {
        return globalThis.process.kill(process.pid, signal);
      } catch (error) {
        if (codeOf(error) === "ESRCH") {
          return false;
        }
        throw error;
      }
    });
  }

  async ended(process: ProcessIdentity, signal?: AbortSignal): Promise<void> {
    while (await this.#isAlive(process)) {
      try {
        await sleep(LOOK, undefined, signal === undefined ? {} : { signal });
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
    }
  }

  async #isAlive({ pid, started }: ProcessIdentity): Promise<boolean> {
    return (await this.look(pid))?.started === started;
  }
}

function launch(
  argv: readonly string[],
  options: {
    readonly cwd: string | undefined;
    readonly env: Readonly<Record<string, string>> | undefined;
    readonly stdio: ("ignore" | "pipe" | number)[];
    readonly detached: boolean;
  },
): ChildProcess {
  const [program = "", ...rest] = argv;
  return spawn(program, rest, {
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
    env: { ...process.env, ...options.env },
    stdio: options.stdio,
    detached: options.detached,
  });
}

/**
 * Kills the program and its descendants without waiting: a process may be stuck in the kernel or keep its output open.
 */
function abandon(child: ChildProcess): void {
  if (child.pid !== undefined) {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The process group has already ended.
    }
  }
  child.stdout?.destroy();
  child.stderr?.destroy();
  child.unref();
}

/** @throws {ProgramFailure} */
async function begun(child: ChildProcess, argv: readonly string[]): Promise<void> {
  await attempt(
    `start ${argv[0]}`,
    () =>
      new Promise<void>((resolve, reject) => {
        child.once("spawn", resolve);
        child.once("error", reject);
      }),
  );
}

async function attempt<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new ProgramFailure(what, codeOf(error), { cause: error });
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : String(error);
}

async function readIfPresent(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch {
    return undefined;
  }
}

/** Returns the command that runs a module of this package as a program. */
export const nodeProgram = (module: string): readonly string[] => [process.execPath, module];

/**
 * Starts children with a channel to their parent. A child ends itself when the channel closes, so none outlives a
 * killed parent.
 */
export function nodeChildren(): Children {
  return {
    spawn: (options: SpawnOptions): Child => {
      const log = openLog(options.logFile);
      const child = spawn(process.execPath, [options.module, ...options.args], {
        stdio: ["ignore", log, log, "ipc"],
        // Ctrl-C signals the terminal's process group. Detached children are not in it, so their parent can stop them
        // in order.
        detached: true,
      });
      closeSync(log);
      return {
        pid: child.pid ?? 0,
        exited: new Promise<ChildExit>((resolve) => {
          // Not "exit": it may be emitted before the last messages.
          child.once("close", (code, signal) => resolve({ code, signal }));
          child.once("error", () => resolve({ code: 1, signal: null }));
        }),
        onMessage: (listener) => void child.on("message", listener),
        // Without a callback, a channel that closes meanwhile would emit "error" on the child.
        send: (message) => void (child.connected && child.send(message, () => undefined)),
        release: () => {
          child.unref();
          if (child.connected) {
            child.disconnect();
          }
        },
        signal: (name) => void child.kill(name),
      };
    },
  };
}

/** @throws {FileFailure} */
function openLog(path: string): number {
  try {
    mkdirSync(dirname(path), { recursive: true });
    return openSync(path, "a", 0o600);
  } catch (error) {
    throw new FileFailure(path, String((error as NodeJS.ErrnoException).code), "append", { cause: error });
  }
}
