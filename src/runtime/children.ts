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
