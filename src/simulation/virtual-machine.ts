import type { ProcessIdentity, ProgramSignal } from "../runtime/processes.js";
import type { Stream } from "../runtime/streams.js";
import { VirtualDisk } from "./virtual-disk.js";

/** A program of a simulated machine, as one who writes it sees its process. @internal */
export interface ProgramHandle {
  readonly argv: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  readonly pid: number;
  print(text: string): void;
  exit(code: number): void;
  /** Default: SIGKILL, SIGTERM, SIGINT and SIGHUP end it. SIGKILL does whatever is said here. */
  onSignal(listener: (signal: ProgramSignal) => void): void;
  /** The kernel keeps it from now on, as one that waits for a device: no signal ends it. */
  stick(): void;
  onEnd(listener: () => void): void;
  /** Takes connections to a Unix socket at a path below its folder, or an absolute one, until it ends. */
  listen(path: string, accept: (stream: Stream) => void): void;
}

/** What a program does when it is started. It goes on until it says {@link ProgramHandle.exit}. */
type VirtualProgram = (process: ProgramHandle) => void;

interface Launch {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly pid: number;
  /** The machine's boot. */
  readonly boot: string;
}

/** A process that runs on a simulated machine. */
class RunningProgram {
  readonly identity: ProcessIdentity;
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly ended: Promise<void>;
  readonly listeners = new Map<string, (stream: Stream) => void>();
  stdout = "";
  /** Null: a signal ended it. */
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

/** The programs of a simulated machine, installed and running. */
class ProgramTable {
  readonly #installed = new Map<string, VirtualProgram>();
  readonly #running = new Map<number, RunningProgram>();

  install(name: string, program: VirtualProgram): void {
    this.#installed.set(name, program);
  }

  /** Undefined: no such program. */
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

  /** The program that takes connections at a path, also by way of `/proc/<pid>/cwd`. */
  listener(path: string): ((stream: Stream) => void) | undefined {
    const [, pid, rest] = /^\/proc\/(\d+)\/cwd\/(.*)$/.exec(path) ?? [];
    const cwd = pid === undefined ? undefined : this.running(Number(pid))?.cwd;
    const real = cwd === undefined ? path : `${cwd}/${rest}`;
    return [...this.#running.values()].find((each) => !each.over && each.listeners.has(real))?.listeners.get(real);
  }

  /** The machine has lost its power. */
  endAll(): void {
    for (const running of [...this.#running.values()]) {
      running.end(null);
    }
  }
}

/** A simulated machine: a host name, a disk that outlives processes, a clock, and the pids of those that live. */
export class VirtualMachine {
  readonly hostname: string;
  readonly disk: VirtualDisk;
  /** What it can run besides the simulated processes. */
  readonly programs = new ProgramTable();
  readonly #pidNamespace: string;
  readonly #alive = new Set<number>();
  readonly #onPowerLoss = new Set<() => void>();
  #lastPid = 1000;
  #boots = 1;
  /** Milliseconds that its clock is ahead, and gains in each millisecond since a moment of the world's. */
  #ahead = 0;
  #drift = 0;
  #driftsSince = 0;

  /** @param pidNamespace another one for what runs in a container. */
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

  /** Makes a pid look alive or dead, whatever process it belongs to: a pid taken over by another program. */
  setLiveness(pid: number, alive: boolean): void {
    if (alive) {
      this.#alive.add(pid);
    } else {
      this.#alive.delete(pid);
    }
  }

  /** A new boot: pids start again, so that an old pid may belong to another program. Kill the processes first. */
  reboot(): void {
    this.#boots += 1;
    this.#alive.clear();
    this.#lastPid = 1000;
  }

  /** Its processes end as by `kill -9`, what they wrote and did not sync is torn, and it is as after a {@link reboot}. */
  losePower(): void {
    for (const action of [...this.#onPowerLoss]) {
      action();
    }
    this.programs.endAll();
    this.disk.tear(this);
    this.reboot();
  }

  /** Calls `action` when it loses its power; returns what forgets it. */
  onPowerLoss(action: () => void): () => void {
    this.#onPowerLoss.add(action);
    return () => this.#onPowerLoss.delete(action);
  }

  /** What its clock says. @param now the world's time of day @param passed milliseconds that have passed in the world */
  timeOfDay(now: number, passed: number): number {
    return now + Math.trunc(this.#aheadAt(passed));
  }

  /** Sets its clock forward, or back. */
  jumpClock(milliseconds: number): void {
    this.#ahead += milliseconds;
  }

  /** Its clock gains so much in each millisecond from now on; below 0: it loses. */
  driftClock(share: number, passed: number): void {
    this.#ahead = this.#aheadAt(passed);
    this.#drift = share;
    this.#driftsSince = passed;
  }

  #aheadAt(passed: number): number {
    return this.#ahead + this.#drift * (passed - this.#driftsSince);
  }
}
