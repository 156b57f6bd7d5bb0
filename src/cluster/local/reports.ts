/** A child of `compute-cluster up` reports its state over the parent's channel. */
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

/** The control plane reports a host whose agent came or went to `compute-cluster up`. */
export interface HostReport {
  readonly type: "host";
  readonly host: string;
  /** The pid of the agent that holds the host; null: none does. */
  readonly pid: number | null;
}

export function isHostReport(message: unknown): message is HostReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host";
}
