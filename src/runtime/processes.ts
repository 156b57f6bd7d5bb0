/** What a process may ask of its machine. */
export interface Processes {
  readonly pid: number;
  /**
   * Tells machines, their boots and their PID namespaces apart, as containers have them: only two processes with equal
   * values mean the same process by a pid.
   */
  readonly machine: string;
  readonly hostname: string;
  /** A pid of this process's own {@link machine}. */
  isAlive(pid: number): boolean;
}

/** A process that can be told from every other one, also from one that has its pid later. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Which boot of the machine, and which moment of it: opaque, no other process of this pid has it. */
  readonly started: string;
}

/** A process as it is seen from outside. */
export interface ObservedProcess extends ProcessIdentity {
  readonly argv: readonly string[];
  /** SIGSTOP has stopped it, and nothing has had it go on. */
  readonly suspended?: true;
}

export interface StartOptions {
  /** The program, by path or as found in PATH, and its arguments. */
  readonly argv: readonly string[];
  /** Absolute. Default: the folder of this process. */
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absolute path of the file that stdout and stderr are appended to; parents are made. */
  readonly logFile: string;
}

export interface RunOptions {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the program and what it has started. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramResult {
  /** Null: a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type ProgramSignal = "SIGTERM" | "SIGKILL" | "SIGHUP" | "SIGINT" | "SIGSTOP" | "SIGCONT";

/** Programs of the machine, started and looked at. Every method rejects with {@link ProgramFailure}. */
export interface Programs {
  /** Starts a program that outlives this process, in a session of its own. */
  start(options: StartOptions): Promise<ProcessIdentity>;
  /**
   * Runs a program to its end, which must come soon, in a session of its own. What it prints is kept, up to 1 MiB of each.
   * @throws the signal's reason, at once: also when the program cannot be killed.
   */
  run(options: RunOptions): Promise<ProgramResult>;
  /** The process that has this pid now; undefined: there is none, or it has ended and was not reaped. */
  look(pid: number): Promise<ObservedProcess | undefined>;
  /** False: that process has ended, whoever has its pid now. */
  signal(process: ProcessIdentity, signal: ProgramSignal): Promise<boolean>;
  /** Resolves soon after that process has ended, whoever started it. @throws the signal's reason. */
  ended(process: ProcessIdentity, signal?: AbortSignal): Promise<void>;
}

export class ProgramFailure extends Error {
  override readonly name = "ProgramFailure";
  /** `ENOENT`, `EACCES`, `EPERM` … */
  readonly code: string;

  constructor(what: string, code: string, options?: ErrorOptions) {
    super(`cannot ${what}: ${code === "ENOENT" ? "no such program or folder (ENOENT)" : code}`, options);
    this.code = code;
  }
}

/** Starting other processes of this package. Only the command line hands this door out. */
export interface Children {
  /** @throws {FileFailure} the log cannot be written. */
  spawn(options: SpawnOptions): Child;
}

export interface SpawnOptions {
  /** Module to run, absolute path. */
  readonly module: string;
  readonly args: readonly string[];
  /** Where stdout and stderr go, appended; parents are made. */
  readonly logFile: string;
}

export interface Child {
  readonly pid: number;
  /** Resolves once, when the process has ended. */
  readonly exited: Promise<ChildExit>;
  /** JSON messages that the child sends to its parent. */
  onMessage(listener: (message: unknown) => void): void;
  /** Sends a JSON message to the child; one that has ended, or is about to, does not get it. */
  send(message: object): void;
  /** This process may end before the child, which goes on without it. */
  release(): void;
  signal(name: "SIGTERM" | "SIGKILL" | "SIGHUP"): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}
