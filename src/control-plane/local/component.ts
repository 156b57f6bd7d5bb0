import type { Child, ChildExit } from "../../runtime/processes.js";
import { backOff } from "../../runtime/retry.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { LastingChild, LastingChildren } from "./lasting-children.js";
import { isComponentReport } from "./reports.js";

export type ComponentState =
  | "starting"
  | "waiting"
  | "ready"
  | "restarting"
  | "stopping"
  | "stopped"
  | "failed"
  | "killed";

export interface ComponentStatus {
  readonly name: string;
  readonly state: ComponentState;
  /** What a person wants to read beside the state; of one that failed, why. */
  readonly detail: string;
  readonly pid: number | null;
  /** The exit code of a process that has ended by itself; null while it runs, and after a signal. */
  readonly exitCode: number | null;
  /** When it came into this state, milliseconds since the epoch. */
  readonly since: number;
  /** The detail counts hosts, and changes with each of them. */
  readonly isSum?: true;
}

/** How a component's process ended; the restart policy decides by it. */
interface ComponentEnd extends ChildExit {
  /** The component was ready once, this time or before. */
  readonly wasReady: boolean;
  /** From 1: how often it has ended since it last was ready for a minute. */
  readonly times: number;
}

export interface ComponentOptions {
  readonly name: string;
  readonly module: string;
  /** Called at each start. */
  readonly args: () => readonly string[];
  readonly logFile: string;
  /** Milliseconds until it starts again after an end that `stop` did not ask for; null: it stays ended. */
  readonly restartIn: (end: ComponentEnd) => number | null;
}

/** Hears what becomes of a component. */
export interface ComponentListener {
  changed(status: ComponentStatus): void;
  /** Gets each message of its process, those about itself included. */
  onMessage(message: unknown): void;
}

export interface ComponentDeps {
  readonly children: Pick<LastingChildren, "spawn">;
  readonly timers: Timers;
  readonly clock: Clock;
}

/** Milliseconds of being ready after which earlier ends count no more. */
const SOUND = 60_000;

/**
 * One process of `compute-cluster up`, from start to stop, or the process that another program started in its place.
 */
export class Component {
  readonly name: string;
  readonly #options: ComponentOptions;
  readonly #deps: ComponentDeps;
  readonly #listener: ComponentListener;
  #child: LastingChild | undefined;
  #status: ComponentStatus;
  /** Why the child said that it fails. */
  #reason = "";
  /** Monotonic; since when it is ready. */
  #readySince: number | undefined;
  #wasReady = false;
  #times = 0;
  #cancelRestart: CancelTimer | undefined;
  /** Pid of a process that does this one's work and is no child of this one. */
  #substitute: number | null = null;
  /** Somebody asked for its end, so that it is not started again. */
  #isToEnd = false;

  constructor(options: ComponentOptions, deps: ComponentDeps, listener: ComponentListener) {
    this.name = options.name;
    this.#options = options;
    this.#deps = deps;
    this.#listener = listener;
    const since = deps.clock.now();
    this.#status = { name: options.name, state: "starting", detail: "", pid: null, exitCode: null, since };
  }

  get status(): ComponentStatus {
    return this.#status;
  }

  /** It has a process. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** The process that does its work was started by another program. */
  get isElsewhere(): boolean {
    return this.#child === undefined && this.#substitute !== null;
  }

  /** @param why it starts again; for the person who watches. @throws {FileFailure} its log cannot be written. */
  start(why?: string): void {
    this.#giveUpRestart();
    const child = this.#deps.children.spawn({ ...this.#options, args: this.#options.args() });
    this.#child = child;
    this.#isToEnd = false;
    this.#reason = "";
    this.#readySince = undefined;
    this.#set("starting", why === undefined ? `pid ${child.pid}` : `pid ${child.pid}; ${why}`);
    child.onMessage((message) => {
      if (this.#child === child) {
        this.#hear(message);
      }
    });
    void child.exited.then((exit) => this.#ended(child, exit));
  }

  /** Says that it is not started, and why. It can be started later. */
  leaveDown(state: "stopped" | "killed", why: string): void {
    this.#set(state, why);
  }

  /** Starts it as at the first time, once a process of it that is about to end has ended; nothing when it runs. */
  async startAgain(): Promise<void> {
    while (this.#isToEnd && this.#child !== undefined) {
      await this.#child.exited;
    }
    if (this.#child === undefined && this.#substitute === null) {
      this.#times = 0;
      this.start();
    }
  }

  /** Asks it to stop; after `grace` ms, if there are any, it is killed. Resolves when it has ended, with how. */
  async stop(grace?: number): Promise<ComponentStatus> {
    this.#endRestarts("stopped");
    const child = this.#child;
    if (child === undefined) {
      return this.#status;
    }
    this.#isToEnd = true;
    this.#set("stopping", "");
    child.signal("SIGTERM");
    const waiting = new AbortController();
    const tooLong =
      grace === undefined
        ? undefined
        : this.#deps.timers.sleep(grace, waiting.signal).then(
            () => child.signal("SIGKILL"),
            () => undefined,
          );
    await child.exited;
    // Others may wait for this end to start it again.
    const ended = this.#status;
    waiting.abort();
    await tooLong;
    return ended;
  }

  /** Ends it with SIGKILL. Resolves when it has ended, with how; nothing starts it again but {@link startAgain}. */
  async kill(): Promise<ComponentStatus> {
    this.#endRestarts("killed");
    this.#isToEnd = true;
    this.#child?.signal("SIGKILL");
    await this.#child?.exited;
    return this.#status;
  }

  /**
   * Ends what it does as SIGKILL would. Its process stays for whoever starts the same component next; one that cannot be kept is killed.
   * Resolves when nothing of it is under way any more.
   */
  async rest(): Promise<void> {
    this.#endRestarts("stopped");
    const child = this.#child;
    if (child === undefined) {
      return;
    }
    this.#isToEnd = true;
    this.#set("stopping", "");
    if (await child.rest()) {
      this.#child = undefined;
      this.#set("stopped", "");
    }
  }

  /** For its process; false: it has none. */
  send(message: object): boolean {
    this.#child?.send(message);
    return this.#child !== undefined;
  }

  /** Says who does this component's work now: its own child, another process, or, with null, none. */
  servedBy(pid: number | null): void {
    const before = this.#substitute;
    this.#substitute = pid === this.#child?.pid ? null : pid;
    if (this.#child !== undefined) {
      return;
    }
    if (this.#substitute !== null) {
      this.#giveUpRestart();
      this.#showSubstitute();
    } else if (before !== null) {
      this.#set("stopped", `pid ${before}, which was started elsewhere, has ended`);
    }
  }

  #hear(message: unknown): void {
    this.#listener.onMessage(message);
    if (!isComponentReport(message)) {
      return;
    }
    if (message.state === "failed") {
      // The process says why it fails, then ends.
      this.#reason = message.detail;
      return;
    }
    if (message.state === "ready") {
      this.#wasReady = true;
      this.#readySince ??= this.#deps.clock.monotonic();
    }
    this.#set(message.state, message.detail);
  }

  #ended(child: Child, exit: ChildExit): void {
    if (this.#child !== child) {
      return;
    }
    this.#child = undefined;
    if (exit.code === 0 || (this.#status.state === "stopping" && exit.signal !== "SIGKILL")) {
      this.#set("stopped", "");
    } else if (this.#isToEnd) {
      this.#set("killed", exit.signal ?? "");
    } else {
      this.#endedByItself(exit);
    }
    if (this.#substitute !== null) {
      this.#showSubstitute();
    }
  }

  #endedByItself(exit: ChildExit): void {
    const readyFor = this.#readySince === undefined ? 0 : this.#deps.clock.monotonic() - this.#readySince;
    this.#times = readyFor >= SOUND ? 1 : this.#times + 1;
    const how = exit.signal ?? (this.#reason || `exit code ${exit.code}; see ${this.#options.logFile}`);
    const wait = this.#options.restartIn({ ...exit, wasReady: this.#wasReady, times: this.#times });
    if (wait === null || this.#substitute !== null) {
      this.#set(exit.signal === null ? "failed" : "killed", how, exit.code);
    } else if (wait === 0) {
      this.#restart(`ended with ${how}; started again`);
    } else {
      this.#set("restarting", `starts again in ${Math.ceil(wait / 1000)} s, for it ended: ${how}`, exit.code);
      this.#cancelRestart = this.#deps.timers.after(wait, () => {
        this.#cancelRestart = undefined;
        this.#restart("started again");
      });
    }
  }

  #restart(why: string): void {
    try {
      this.start(why);
    } catch (error) {
      this.#set("failed", error instanceof Error ? error.message : String(error));
    }
  }

  #giveUpRestart(): void {
    this.#cancelRestart?.();
    this.#cancelRestart = undefined;
  }

  #endRestarts(state: "stopped" | "killed"): void {
    if (this.#cancelRestart !== undefined) {
      this.#giveUpRestart();
      this.#set(state, "");
    }
  }

  #showSubstitute(): void {
    this.#set("ready", `pid ${this.#substitute}, started elsewhere`);
  }

  #set(state: ComponentState, detail: string, exitCode: number | null = null): void {
    const since = state === this.#status.state ? this.#status.since : this.#deps.clock.now();
    this.#status = { name: this.name, state, detail, pid: this.#child?.pid ?? null, exitCode, since };
    this.#listener.changed(this.#status);
  }
}

/** Exit codes with which a program of this package says that it ended on purpose: the README lists them. */
const FORESEEN: readonly (number | null)[] = [0, 2, 3, 4, 5];

/** Signals by which a person ends a process; any other end is a crash. */
const MEANT: readonly (string | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/** Quick restarts of the control plane, after which it is left alone. */
const RESTARTS = 5;

const agentDelay = backOff({ first: 1_000, most: 60_000 });

/**
 * An agent that failed unforeseen starts again, later each time; an agent that a person killed stays down: it is a
 * drill.
 */
export function agentRestart({ code, signal, times }: ComponentEnd): number | null {
  const isMeant = signal === null ? FORESEEN.includes(code) : MEANT.includes(signal);
  return isMeant ? null : agentDelay(times);
}

/** The control plane starts again at once, whatever ended it, unless it refuses to start. */
export function controlPlaneRestart({ code, signal, wasReady, times }: ComponentEnd): number | null {
  const isExpectedExit = signal === null && FORESEEN.includes(code);
  return wasReady && !isExpectedExit && times <= RESTARTS ? 0 : null;
}
