import type { ProcessIdentity, ProgramSignal } from "../runtime/processes.js";
import type { Stream } from "../runtime/streams.js";
import { VirtualDisk } from "./virtual-disk.js";

/** The process of a program on a simulated machine, for the author of the program. @internal */
export interface ProgramHandle {
  readonly argv: readonly string[];
  /** Absolute path. */
  readonly cwd: string;
  readonly pid: number;
  print(text: string): void;
  exit(code: number): void;
  /**
   * By default, SIGKILL, SIGTERM, SIGINT and SIGHUP end the program. SIGKILL always ends it, regardless of `listener`.
   */
  onSignal(listener: (signal: ProgramSignal) => void): void;
  /** Makes the process uninterruptible, as if it waited for a device: no signal ends it. */
  stick(): void;
  onEnd(listener: () => void): void;
  /**
   * Accepts connections to a Unix socket until the program ends. `path` is absolute or relative to the working
   * directory.
   */
  listen(path: string, accept: (stream: Stream) => void): void;
}

/** The code of a program. It runs until it calls {@link ProgramHandle.exit}. */
type VirtualProgram = (process: ProgramHandle) => void;

interface Launch {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly pid: number;
  /** The id of the machine's boot. */
  readonly boot: string;
}

/** A running program on a simulated machine. */
class RunningProgram {
  readonly identity: ProcessIdentity;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly ended: Promise<void>;
  readonly listeners = new Map<string, (stream: Stream) => void>();
  stdout = "";
  /** Null if a signal ended it. */
  code: number | null = null;
  #resolveEnded: () => void = () => {};
  #over = false;
  #stuck = false;
  readonly #onEnd: (() => void)[] = [];
  #onSignal: (signal: ProgramSignal) => void = (signal) => {
    if (signal !== "SIGSTOP" && signal !== "SIGCONT") {
      this.end(null);
    }
  };

  constructor({ argv, cwd, pid, boot }: Launch) {
    this.identity = { pid, started: `${boot}:${pid}` };
    this.argv = argv;
    this.cwd = cwd;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
  }

  get over(): boolean {
    return this.#over;
  }

  signalled(signal: ProgramSignal): void {
    if (this.#stuck) {
      return;
    }
    if (signal === "SIGKILL") {
      this.end(null);
    } else {
      this.#onSignal(signal);
    }
  }

  end(code: number | null): void {
    if (this.#over) {
      return;
    }
    this.#over = true;
    this.code = code;
    for (const listener of this.#onEnd) {
      listener();
    }
    this.#resolveEnded();
  }

  handle(): ProgramHandle {
    return {
      argv: this.argv,
      cwd: this.cwd,
      pid: this.identity.pid,
      print: (text) => {
        this.stdout += text;
      },
      exit: (code) => this.end(code),
      onSignal: (listener) => {
        this.#onSignal = listener;
      },
      stick: () => {
        this.#stuck = true;
      },
      onEnd: (listener) => void this.#onEnd.push(listener),
      listen: (path, accept) => void this.listeners.set(path.startsWith("/") ? path : `${this.cwd}/${path}`, accept),
    };
  }
}

/** The installed and the running programs of a simulated machine. */
class ProgramTable {
  readonly #installed = new Map<string, VirtualProgram>();
  readonly #running = new Map<number, RunningProgram>();

  install(name: string, program: VirtualProgram): void {
    this.#installed.set(name, program);
  }

  /** Returns undefined if the program is not installed. */
  launch(options: Launch): RunningProgram | undefined {
    const program = this.#installed.get(options.argv[0] ?? "");
    if (!program) {
      return undefined;
    }
    const running = new RunningProgram(options);
    this.#running.set(options.pid, running);
    void running.ended.then(() => this.#running.delete(options.pid));
    program(running.handle());
    return running;
  }

  running(pid: number): RunningProgram | undefined {
    const running = this.#running.get(pid);
    return running?.over ? undefined : running;
  }

  /** Returns the listener of a socket path, also via `/proc/<pid>/cwd`. */
  listener(path: string): ((stream: Stream) => void) | undefined {
    const [, pid, rest] = /^\/proc\/(\d+)\/cwd\/(.*)$/.exec(path) ?? [];
    const cwd = pid === undefined ? undefined : this.running(Number(pid))?.cwd;
    const real = cwd === undefined ? path : `${cwd}/${rest}`;
    return [...this.#running.values()].find((each) => !each.over && each.listeners.has(real))?.listeners.get(real);
  }

  /** Ends all programs after a power loss. */
  endAll(): void {
    for (const running of [...this.#running.values()]) {
      running.end(null);
    }
  }
}

/** A simulated machine: a host name, a disk that outlives processes, a clock, and the pids of running processes. */
export class VirtualMachine {
  readonly hostname: string;
  readonly disk: VirtualDisk;
  /** Programs that it can run in addition to the simulated processes. */
  readonly programs = new ProgramTable();
  readonly #pidNamespace: string;
  readonly #alive = new Set<number>();
  readonly #onPowerLoss = new Set<() => void>();
  #lastPid = 1000;
  #boots = 1;
  /** The offset of its clock in milliseconds, and its drift per millisecond since a time of the world. */
  #ahead = 0;
  #drift = 0;
  #driftsSince = 0;

  /** @param pidNamespace differs for processes in a container. */
  constructor(hostname: string, disk: VirtualDisk = new VirtualDisk(), pidNamespace = "1") {
    this.hostname = hostname;
    this.disk = disk;
    this.#pidNamespace = pidNamespace;
  }

  /** Changes with each {@link reboot}. */
  get identity(): string {
    return `${this.hostname}:boot-${this.#boots}:${this.#pidNamespace}`;
  }

  startProcess(): number {
    this.#lastPid += 1;
    this.#alive.add(this.#lastPid);
    return this.#lastPid;
  }

  endProcess(pid: number): void {
    this.#alive.delete(pid);
  }

  isAlive(pid: number): boolean {
    return this.#alive.has(pid);
  }

  /** Sets whether a pid appears alive, regardless of its process: simulates a pid reused by another program. */
  setLiveness(pid: number, alive: boolean): void {
    if (alive) {
      this.#alive.add(pid);
    } else {
      this.#alive.delete(pid);
    }
  }

  /**
   * Starts a new boot: pids start again, so that an old pid may belong to another program. Kill the processes first.
   */
  reboot(): void {
    this.#boots += 1;
    this.#alive.clear();
    this.#lastPid = 1000;
  }

  /** Simulates a power loss: kills the processes, truncates unsynced writes, and reboots. */
  losePower(): void {
    for (const action of [...this.#onPowerLoss]) {
      action();
    }
    this.programs.endAll();
    this.disk.tear(this);
    this.reboot();
  }

  /** Calls `action` on power loss. Returns a function that removes it. */
  onPowerLoss(action: () => void): () => void {
    this.#onPowerLoss.add(action);
    return () => this.#onPowerLoss.delete(action);
  }

  /**
   * Returns the time of its clock.
   * @param now the world's time of day
   * @param passed milliseconds that have passed in the world
   */
  timeOfDay(now: number, passed: number): number {
    return now + Math.trunc(this.#aheadAt(passed));
  }

  /** Changes its clock by `milliseconds`. */
  jumpClock(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Makes its clock gain `share` milliseconds per millisecond from now on; negative: lose. */
  driftClock(share: number, passed: number): void {
    this.#ahead = this.#aheadAt(passed);
    this.#drift = share;
    this.#driftsSince = passed;
  }

  #aheadAt(passed: number): number {
    return this.#ahead + this.#drift * (passed - this.#driftsSince);
  }
}
