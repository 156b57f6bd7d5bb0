import { ConductorError, MessagingTimeout } from "../../conductor-client/errors.js";
import {
  type ControlledHost,
  HOST_CONTROL,
  type HostAction,
  type HostProcess,
  type HostState,
  WATCH_GUESTS,
} from "../../conductor-client/methods/session.js";
import type { OVER_THE_LINK } from "../local/reports.js";
import type { Session } from "./session.js";

/** A host that a connected process starts, stops and kills on demand. */
export interface KnownHost {
  readonly host: string;
  /** The process that the host's agent runs in. */
  readonly pid: number;
  readonly machine: string;
  readonly state: HostState;
  /** Why, for a person; "" where there is nothing to say. */
  readonly detail: string;
}

/** Milliseconds that an action may take; a host that drains has `manager_shutdown_timeout`, 160 s, and some reserve. */
const LIMITS: Readonly<Record<HostAction, number>> = { start: 120_000, stop: 300_000, kill: 30_000 };

/** No connection controls the host, or what it was asked was not done. */
class HostNotControlled extends ConductorError {
  override readonly name = "HostNotControlled";
}

const LIVING: ReadonlySet<HostState> = new Set(["starting", "serving", "stopping"]);

/** A process in which the host lives, or else the one that spoke of it last: it may have been killed in another, and started here. */
function bestOf(offers: ReadonlyMap<Session, ControlledHost>): readonly [Session, ControlledHost] | undefined {
  const all = [...offers];
  return all.findLast(([, { state }]) => LIVING.has(state)) ?? all.at(-1);
}

/** Which connection controls which host, as the processes at their other ends have announced. */
export class HostControls {
  /** What each connection that offers a host says of it, the last word at the end. */
  readonly #hosts = new Map<string, Map<Session, ControlledHost>>();
  readonly #isFree: (host: string) => boolean;

  /** @param isFree whether nobody has the host's lease */
  constructor(isFree: (host: string) => boolean) {
    this.#isFree = isFree;
  }

  /** The hosts of connections that are up, in the order in which they were announced first. */
  known(): readonly KnownHost[] {
    return [...this.#hosts.keys()].flatMap((host) => this.find(host) ?? []);
  }

  /** Undefined: no connection that is up controls the host. */
  find(host: string): KnownHost | undefined {
    const [session, known] = bestOf(this.#hosts.get(host) ?? new Map<Session, ControlledHost>()) ?? [];
    const { pid = 0, machine = "" } = session?.identity ?? {};
    return known === undefined ? undefined : { ...known, pid, machine };
  }

  /**
   * Starts, stops (as SIGTERM does) or kills (as SIGKILL does) a host, and waits until that is done.
   * @throws {HostNotControlled} naming the host: no connection controls it, or it could not be done, and why.
   */
  async control(host: string, action: HostAction): Promise<ControlledHost> {
    const [session] = bestOf(this.#hosts.get(host) ?? new Map()) ?? [];
    if (session === undefined) {
      throw new HostNotControlled(
        `host ${host} cannot be asked to ${action}: no process that is connected now controls it`,
        { host },
      );
    }
    try {
      // Not in the name of the host, whose end must not end the question.
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

  /** What a process says of its hosts. */
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

  /** An agent with one host takes its process with it. */
  #unanswered(host: string, action: HostAction, session: Session, error: unknown): ControlledHost {
    if (error instanceof MessagingTimeout && session.closed) {
      if (action === "kill") {
        return { host, state: "killed", detail: "its process has ended" };
      }
      if (action === "stop" && this.#isFree(host)) {
        return { host, state: "stopped", detail: "its process has ended" };
      }
    }
    const reason = error instanceof Error ? error.message : String(error);
    throw new HostNotControlled(`host ${host} was asked to ${action}: ${reason}`, { host });
  }
}

/** What starts and ends the agents' processes: `compute-cluster up`, the parent of the control plane. */
export interface HostSupervisor {
  list(): Promise<readonly HostProcess[]>;
  /** null: it does not know the host. */
  find(host: string): Promise<HostProcess | null>;
  /** Answers when the host is in its new state; null: it does not know the host. @throws {Error} why it cannot be done. */
  control(host: string, action: HostAction): Promise<HostProcess | typeof OVER_THE_LINK | null>;
  /** Starts the hosts of an addition and answers with them. @throws {Error} why it cannot be done. */
  add(addition: string): Promise<readonly string[]>;
  /** Forgets a host whose agent has ended. @throws {Error} it has not. */
  forget(host: string): Promise<void>;
  /** Has everything stop, soon after the answer, which is the pid of the process that ends last. */
  stop(): Promise<number>;
  /**
   * Has everything start again with a saved state, soon after the answer, which is the supervisor's pid. Null: the state after its
   * start. @param startHosts also hosts that were down in that state @throws {Error} that cannot be restored
   */
  restore(snapshot: string | null, startHosts: boolean): Promise<number>;
}

/** Knows whether somebody looks at the hosts' guests. While somebody does, agents say whose have changed; else they say nothing. */
export class GuestWatch {
  readonly #sessions: Iterable<Session>;
  readonly #listeners = new Set<(host: string) => void>();

  /** @param sessions those that are open */
  constructor(sessions: Iterable<Session>) {
    this.#sessions = sessions;
  }

  /** Calls the listener with each host whose guests have changed, until what is returned is called. */
  begin(listener: (host: string) => void): () => void {
    this.#listeners.add(listener);
    this.#notifyAll(this.#listeners.size === 1);
    return () => {
      this.#listeners.delete(listener);
      this.#notifyAll(this.#listeners.size === 0);
    };
  }

  /** A process has connected. */
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
