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
  signal(name: "SIGTERM" | "SIGKILL" | "SIGHUP"): void;
}

export interface ChildExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** How a child of `compute-cluster up` tells where it is; sent over the parent's channel. */
export interface ComponentReport {
  readonly type: "component";
  readonly state: "starting" | "waiting" | "ready" | "stopping" | "failed";
  readonly detail: string;
  /** The control plane's address, once it is ready. */
  readonly url?: string;
}

export function isComponentReport(message: unknown): message is ComponentReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "component";
}

/** What the control plane tells `compute-cluster up` of a host whose agent came or went. */
export interface HostReport {
  readonly type: "host";
  readonly host: string;
  /** The pid of the agent that holds the host; null: none does. */
  readonly pid: number | null;
}

export function isHostReport(message: unknown): message is HostReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host";
}
