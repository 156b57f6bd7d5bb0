/** The current process and its machine. */
export interface Processes {
  readonly pid: number;
  /**
   * Identifies the machine, its boot and the PID namespace, for containers. A pid is comparable only between processes
   * with equal values.
   */
  readonly machine: string;
  readonly hostname: string;
  /** Returns whether a pid of this process's {@link machine} is alive. */
  isAlive(pid: number): boolean;
}

/** Identifies a process uniquely, even after its pid is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The boot of the machine and the start time within it. Opaque; unique among processes with this pid. */
  readonly started: string;
}

/** A process as observed from another process. */
export interface ObservedProcess extends ProcessIdentity {
  readonly argv: readonly string[];
  /** Stopped by SIGSTOP and not continued. */
  readonly suspended?: true;
}

export interface StartOptions {
  /** The program (a path, or a name in PATH) and its arguments. */
  readonly argv: readonly string[];
  /** Absolute path. Default: the working directory of this process. */
  readonly cwd?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
  /** Absolute path of the file that stdout and stderr are appended to; parent folders are created. */
  readonly logFile: string;
}

export interface RunOptions {
  readonly argv: readonly string[];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Kills the program and its descendants. */
  readonly signal?: AbortSignal | undefined;
}

export interface ProgramResult {
  /** Null if a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export type ProgramSignal = "SIGTERM" | "SIGKILL" | "SIGHUP" | "SIGINT" | "SIGSTOP" | "SIGCONT";

/** Starts and observes programs of the machine. Every method rejects with {@link ProgramFailure}. */
export interface Programs {
  /** Starts a program in a new session; it outlives this process. */
  start(options: StartOptions): Promise<ProcessIdentity>;
  /**
   * Runs a short-lived program in a new session and waits for its end. Captures up to 1 MiB each of stdout and stderr.
   * @throws the signal's reason immediately, even if the program cannot be killed.
   */
  run(options: RunOptions): Promise<ProgramResult>;
  /** Returns the process that currently has this pid; undefined if there is none or it is a zombie. */
  look(pid: number): Promise<ObservedProcess | undefined>;
  /** Returns false if that process has ended, even if another one now has its pid. */
  signal(process: ProcessIdentity, signal: ProgramSignal): Promise<boolean>;
  /**
   * Resolves soon after that process has ended, regardless of which process started it.
   * @throws the signal's reason.
   */
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

/** Starts other processes of this package. Only the command line uses it. */
export interface Children {
  /** @throws {FileFailure} when the log cannot be written. */
  spawn(options: SpawnOptions): Child;
}

export interface SpawnOptions {
  /** Absolute path of the module to run. */
  readonly module: string;
  readonly args: readonly string[];
  /** Absolute path of the file that stdout and stderr are appended to; parent folders are created. */
  readonly logFile: string;
}

export interface Child {
  readonly pid: number;
  /** Resolves once, when the process has ended. */
  readonly exited: Promise<ChildExit>;
  /** Calls `listener` with each JSON message from the child. */
  onMessage(listener: (message: unknown) => void): void;
  /** Sends a JSON message to the child. A child that has ended or is ending does not receive it. */
  send(message: object): void;
  /** Detaches from the child, so that this process may end before it. */
  release(): void;
  signal(name: "SIGTERM" | "SIGKILL" | "SIGHUP"): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}
