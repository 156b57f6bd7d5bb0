import { ConductorError, isConductorError } from "../../conductor-client/errors.js";
import {
  type ControlledHost,
  HOST_CONTROL,
  type HostAction,
  type HostProcess,
  type HostState,
  WATCH_GUESTS,
} from "../../conductor-client/methods/session.js";
import { errorMessage } from "../../runtime/error-messages.js";
import type { OVER_THE_LINK } from "../local/reports.js";
import type { Session } from "./session.js";

/** A host that a connected process can start, stop and kill. */
export interface KnownHost {
  readonly host: string;
  /** Process id of the host's agent. */
  readonly pid: number;
  readonly machine: string;
  readonly state: HostState;
  /** Readable reason; empty if there is none. */
  readonly detail: string;
}

/** Max milliseconds of an action. Draining a host takes up to `manager_shutdown_timeout` (160 s), so `stop` allows more. */
const LIMITS: Readonly<Record<HostAction, number>> = { start: 120_000, stop: 300_000, kill: 30_000 };

/** States of hosts whose agent runs. */
export const LIVE: ReadonlySet<HostState> = new Set(["starting", "serving", "stopping"]);

/**
 * Returns the process in which the host runs, or else the last one that reported it: a host may be killed in one process
 * and started in another.
 */
function bestOf(offers: ReadonlyMap<Session, ControlledHost>): readonly [Session, ControlledHost] | undefined {
  const all = [...offers];
  return all.findLast(([, { state }]) => LIVE.has(state)) ?? all.at(-1);
}

/** Hosts that connected processes have announced and control. */
export class HostControls {
  /** The latest state of each host by connection, most recent report last. */
  readonly #hosts = new Map<string, Map<Session, ControlledHost>>();
  readonly #isFree: (host: string) => boolean;

  /** @param isFree returns true if no boot has the host's lease */
  constructor(isFree: (host: string) => boolean) {
    this.#isFree = isFree;
  }

  /** Returns the hosts of open connections, in the order of their first announcement. */
  known(): readonly KnownHost[] {
    return [...this.#hosts.keys()].flatMap((host) => this.find(host) ?? []);
  }

  /** Returns undefined if no open connection controls the host. */
  find(host: string): KnownHost | undefined {
    const [session, known] = bestOf(this.#hosts.get(host) ?? new Map<Session, ControlledHost>()) ?? [];
    const { pid = 0, machine = "" } = session?.identity ?? {};
    return known === undefined ? undefined : { ...known, pid, machine };
  }

  /**
   * Starts, stops (like SIGTERM) or kills (like SIGKILL) a host, and waits until it has that state.
   * @throws {HostNotControlled} if no connection controls the host, or with the reason why the action failed
   */
  async control(host: string, action: HostAction): Promise<ControlledHost> {
    const [session] = bestOf(this.#hosts.get(host) ?? new Map()) ?? [];
    if (session === undefined) {
      throw new ConductorError(
        "HostNotControlled",
        `host ${host}: ${action} failed: no connected process controls this host`,
        { host },
      );
    }
    try {
      // Sent without the host's name: a call to a host fails when that host ends.
      const reply = await session.ask(HOST_CONTROL, {
        params: { host, action },
        meta: { timeout: LIMITS[action] },
      });
      const { state, detail } = reply as ControlledHost;
      return { host, state, detail: String(detail) };
    } catch (error) {
      return this.#unanswered(host, action, session, error);
    }
  }

  /** Stores the states of hosts that a process reports. */
  announced(session: Session, hosts: readonly ControlledHost[]): void {
    for (const known of hosts) {
      const offers = this.#hosts.get(known.host) ?? new Map<Session, ControlledHost>();
      offers.delete(session);
      offers.set(session, known);
      this.#hosts.set(known.host, offers);
    }
  }

  sessionEnded(session: Session): void {
    for (const [host, offers] of this.#hosts) {
      if (offers.delete(session) && offers.size === 0) {
        this.#hosts.delete(host);
      }
    }
  }

  /** Handles a connection that ended during the action: an agent with one host ends with its process. */
  #unanswered(host: string, action: HostAction, session: Session, error: unknown): ControlledHost {
    if (isConductorError(error, "MessagingTimeout") && session.closed) {
      if (action === "kill") {
        return { host, state: "killed", detail: "its process has ended" };
      }
      if (action === "stop" && this.#isFree(host)) {
        return { host, state: "stopped", detail: "its process has ended" };
      }
    }
    const reason = errorMessage(error);
    throw new ConductorError("HostNotControlled", `host ${host}: ${action} failed: ${reason}`, { host });
  }
}

/** Interface of `compute-agent up`, the parent process, which starts and stops agent processes. */
export interface HostSupervisor {
  list(): Promise<readonly HostProcess[]>;
  /** Returns null if the host is unknown. */
  find(host: string): Promise<HostProcess | null>;
  /** Resolves when the host has its new state; null if the host is unknown. @throws {Error} with the reason of a failure */
  control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK | null>;
  /** Starts the hosts of an addition and returns their names. @throws {Error} with the reason of a failure */
  add(addition: string): Promise<readonly string[]>;
  /** Removes a host whose agent has ended. @throws {Error} if it still runs */
  forget(host: string): Promise<void>;
  /** Stops everything shortly after the response. Returns the pid of the process that ends last. */
  stop(): Promise<number>;
  /**
   * Restarts everything with a saved state shortly after the response. Returns the supervisor's pid.
   * @param snapshot null: the state after the cluster's start
   * @param startHosts also start hosts that were down in that state
   * @throws {Error} if the state cannot be restored
   */
  restore(snapshot: string | null, startHosts: boolean): Promise<number>;
}

/** Tracks viewers of the hosts' guests. Agents report guest changes only while there is a viewer. */
export class GuestWatch {
  readonly #sessions: Iterable<Session>;
  readonly #listeners = new Set<(host: string) => void>();

  /** @param sessions open sessions */
  constructor(sessions: Iterable<Session>) {
    this.#sessions = sessions;
  }

  /** Calls the listener with each host whose guests changed. Returns an unsubscribe function. */
  begin(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    this.#notifyAll(this.#listeners.size === 1);
    return () => {
      this.#listeners.delete(listener);
      this.#notifyAll(this.#listeners.size === 0);
    };
  }

  /** Notifies a newly connected process if there are viewers. */
  introduced(session: Session): void {
    if (this.#listeners.size > 0) {
      session.notify(WATCH_GUESTS, { watched: true });
    }
  }

  changed(hosts: readonly string[]): void {
    for (const listener of this.#listeners) {
      for (const host of hosts) {
        listener(host);
      }
    }
  }

  #notifyAll(isNews: boolean): void {
    for (const session of isNews ? this.#sessions : []) {
      if (session.identity !== undefined) {
        session.notify(WATCH_GUESTS, { watched: this.#listeners.size > 0 });
      }
    }
  }
}
