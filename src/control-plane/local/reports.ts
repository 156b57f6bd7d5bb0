import type { HostState } from "../../conductor-client/methods/session.js";

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

/** A host, and the agent that holds it. */
export interface HostHolder {
  readonly host: string;
  /** The pid of the agent that holds the host; null: none does. */
  readonly pid: number | null;
}

/** The control plane reports hosts whose agents came or went to `compute-cluster up`, in the order in which they did. */
export interface HoldersReport {
  readonly type: "holders";
  readonly holders: readonly HostHolder[];
}

export function isHoldersReport(message: unknown): message is HoldersReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "holders";
}

/** What has become of a host. */
export interface HostChange {
  readonly host: string;
  readonly state: HostState;
  /** Why, for a person; "" where there is nothing to say. */
  readonly detail: string;
  /** What an agent of this host alone would have ended with; null: the host has not ended. */
  readonly exitCode: number | null;
}

/** An agent process with many hosts reports each change of one to its parent, in the order in which they came. */
export interface HostStatesReport {
  readonly type: "host-states";
  readonly changes: readonly HostChange[];
}

export function isHostStatesReport(message: unknown): message is HostStatesReport {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-states";
}

/** An agent process is given hosts to start by its parent, further ones or such that have ended; one that lives is left alone. */
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
 * A child is to end all that it does as `kill -9` would, and to wait for other work: another state is put in the place of the one it
 * has. It answers {@link Resting}.
 */
export interface Rest {
  readonly type: "rest";
}

export function isRest(message: unknown): message is Rest {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "rest";
}

/** Nothing of what the child did is under way any more. */
export interface Resting {
  readonly type: "resting";
}

export function isResting(message: unknown): message is Resting {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "resting";
}

/** A child that rests goes on as if it were started with these arguments. */
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

/** Said of a host whose process cannot be told by its parent: the conductor asks the agent over its connection. */
export const OVER_THE_LINK = "over-the-link";

/** The control plane hands an operator's command on to `compute-cluster up`, which starts and ends processes. */
export interface HostCommand {
  readonly type: "host-command";
  /** The answer has the same. */
  readonly id: number;
  readonly command: "list" | "find" | "start" | "stop" | "kill" | "add" | "forget" | "restore" | "down";
  /** What it is about: a host; for `add` the name of an addition; for `restore` a snapshot, "" for the state after the start; for `list` and `down` nothing. */
  readonly subject: string;
  /** Of `restore`: hosts are started, too, that were down when the state was saved. */
  readonly startHosts?: true;
}

export function isHostCommand(message: unknown): message is HostCommand {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-command";
}

export interface HostCommandReply {
  readonly type: "host-answer";
  readonly id: number;
  readonly result?: unknown;
  /** Why it could not be done. */
  readonly error?: string;
}

export function isHostCommandReply(message: unknown): message is HostCommandReply {
  return typeof message === "object" && message !== null && (message as { type?: unknown }).type === "host-answer";
}
