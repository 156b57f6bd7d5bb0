import type { HostState } from "../../conductor-client/methods/session.js";

/** A state report of a child to `compute-cluster up`, sent over the parent's channel. */
export interface ComponentReport {
  readonly type: "component";
  readonly state: "starting" | "waiting" | "ready" | "stopping" | "failed";
  readonly detail: string;
  /** The control plane's URL, once it is ready. */
  readonly url?: string;
}

export function isComponentReport(message: unknown): message is ComponentReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "component";
}

/** A host and its agent. */
export interface HostHolder {
  readonly host: string;
  /** Pid of the agent that owns the host; null if there is none. */
  readonly pid: number | null;
}

/** Report of the control plane to `compute-cluster up` about changed owners of hosts, in order. */
export interface HoldersReport {
  readonly type: "holders";
  readonly holders: readonly HostHolder[];
}

export function isHoldersReport(message: unknown): message is HoldersReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "holders";
}

/** A changed host. */
export interface HostChange {
  readonly host: string;
  readonly state: HostState;
  /** Readable reason; empty if there is none. */
  readonly detail: string;
  /** The exit code that a single agent of this host would have had; null if the host has not ended. */
  readonly exitCode: number | null;
}

/** Report of an agent process with many hosts to its parent about each changed host, in order. */
export interface HostStatesReport {
  readonly type: "host-states";
  readonly changes: readonly HostChange[];
}

export function isHostStatesReport(message: unknown): message is HostStatesReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-states";
}

/**
 * Request of the parent to start hosts in an agent process: new ones, or ones that have ended. Running hosts are
 * unaffected.
 */
export interface AddHosts {
  readonly type: "add-hosts";
  readonly hosts: readonly string[];
}

export function isAddHosts(message: unknown): message is AddHosts {
  if (typeof message !== "object" || message === null) {
    return false;
  }
  const { type, hosts } = message as { readonly type?: unknown; readonly hosts?: unknown };
  return type === "add-hosts" && Array.isArray(hosts) && hosts.every((host) => typeof host === "string");
}

/**
 * Request to a child to end all its work as `kill -9` would and wait for other work, since its state is about to be
 * replaced. The child replies with {@link Resting}.
 */
export interface Rest {
  readonly type: "rest";
}

export function isRest(message: unknown): message is Rest {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "rest";
}

/** Reply of a child that has ended all its work. */
export interface Resting {
  readonly type: "resting";
}

export function isResting(message: unknown): message is Resting {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "resting";
}

/** Request to an idle child to continue as if started with these arguments. */
export interface GoOn {
  readonly type: "go-on";
  readonly args: readonly string[];
}

export function isGoOn(message: unknown): message is GoOn {
  if (typeof message !== "object" || message === null) {
    return false;
  }
  const { type, args } = message as { readonly type?: unknown; readonly args?: unknown };
  return type === "go-on" && Array.isArray(args) && args.every((arg) => typeof arg === "string");
}

/** Result for a host whose parent cannot signal its process: the conductor must call the agent over its connection. */
export const OVER_THE_LINK = "over-the-link";

/** An operator's command that the control plane forwards to `compute-cluster up`, which starts and stops processes. */
export interface HostCommand {
  readonly type: "host-command";
  /** Repeated in the reply. */
  readonly id: number;
  readonly command: "list" | "find" | "start" | "stop" | "kill" | "add" | "forget" | "restore" | "down";
  /**
   * A host; for `add`, the name of an addition; for `restore`, a snapshot, with "" for the state after the start. Unused
   * for `list` and `down`.
   */
  readonly subject: string;
  /** For `restore`: also starts hosts that were down in the saved state. */
  readonly startHosts?: true;
}

export function isHostCommand(message: unknown): message is HostCommand {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-command";
}

export interface HostCommandReply {
  readonly type: "host-answer";
  readonly id: number;
  readonly result?: unknown;
  /** Reason of a failure. */
  readonly error?: string;
}

export function isHostCommandReply(message: unknown): message is HostCommandReply {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-answer";
}
