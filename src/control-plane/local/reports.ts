import type { HostState } from "../../conductor-client/methods/session.js";
import { isObject } from "../../runtime/collections.js";

/** A state report of a child to `compute-agent up`, sent over the parent's channel. */
export interface ComponentReport {
  readonly type: "component";
  readonly state: "starting" | "waiting" | "ready" | "stopping" | "failed";
  readonly detail: string;
  /** The control plane's URL, once it is ready. */
  readonly url?: string;
}

export interface HostHolder {
  readonly host: string;
  /** Pid of the agent that owns the host; null if there is none. */
  readonly pid: number | null;
}

/** Report of the control plane to `compute-agent up` about changed owners of hosts, in order. */
export interface HoldersReport {
  readonly type: "holders";
  readonly holders: readonly HostHolder[];
}

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

/**
 * Request of the parent to start hosts in an agent process: new ones, or ones that have ended. Running hosts are
 * unaffected.
 */
export interface AddHosts {
  readonly type: "add-hosts";
  readonly hosts: readonly string[];
}

/**
 * Request to a child to end all its work as `kill -9` would and wait for other work, since its state is about to be
 * replaced. The child replies with {@link Resting}.
 */
export interface Rest {
  readonly type: "rest";
}

/** Reply of a child that has ended all its work. */
export interface Resting {
  readonly type: "resting";
}

/** Request to an idle child to continue as if started with these arguments. */
export interface GoOn {
  readonly type: "go-on";
  readonly args: readonly string[];
}

/** Result for a host whose parent cannot signal its process: the conductor must call the agent over its connection. */
export const OVER_THE_LINK = "over-the-link";

/** An operator's command that the control plane forwards to `compute-agent up`, which starts and stops processes. */
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

export interface HostCommandReply {
  readonly type: "host-answer";
  readonly id: number;
  readonly result?: unknown;
  /** Reason of a failure. */
  readonly error?: string;
}

/** A message between `compute-agent up` and its children. */
type Message =
  | ComponentReport
  | HoldersReport
  | HostStatesReport
  | AddHosts
  | Rest
  | Resting
  | GoOn
  | HostCommand
  | HostCommandReply;

/** Fields that are lists of strings, by type. */
const LISTS: Readonly<Record<string, string>> = { "add-hosts": "hosts", "go-on": "args" };

/** Returns whether a message of the parent's channel has this type. */
export function isMessage<T extends Message["type"]>(
  message: unknown,
  type: T,
): message is Extract<Message, { readonly type: T }> {
  if (!isObject(message) || message.type !== type) {
    return false;
  }
  const list = LISTS[type] === undefined ? [] : message[LISTS[type]];
  return Array.isArray(list) && list.every((item) => typeof item === "string");
}
