import { errorMessage } from "../../runtime/error-messages.js";
import type { Child, ChildExit } from "../../runtime/processes.js";
import { backOff } from "../../runtime/retry.js";
import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { LastingChild, LastingChildren } from "./lasting-children.js";
import { isMessage } from "./reports.js";

export type ComponentState =
  | "starting"
  | "waiting"
  | "ready"
  | "restarting"
  | "stopping"
  | "stopped"
  | "failed"
  | "killed";

/** States of a component whose process has ended for good. */
export const ENDED: readonly string[] = ["stopped", "failed", "killed"] satisfies ComponentState[];

export interface ComponentStatus {
  readonly name: string;
  readonly state: ComponentState;
  /** Readable details; for a failed component, the reason. */
  readonly detail: string;
  readonly pid: number | null;
  /** Exit code of a process that exited on its own; null while it runs, and after a signal. */
  readonly exitCode: number | null;
  /** Time of the state's start, milliseconds since the epoch. */
  readonly since: number;
  /** The detail is a count of hosts and changes with each of them. */
  readonly isSum?: true;
}

/** How a component's process ended, for the restart policy. */
interface ComponentEnd extends ChildExit {
  /** The component has been ready at least once. */
  readonly wasReady: boolean;
  /** Number of ends since it was last ready for a minute, from 1. */
  readonly times: number;
}

export interface ComponentOptions {
  readonly name: string;
  readonly module: string;
  /** Called at each start. */
  readonly args: () => readonly string[];
  readonly logFile: string;
  /** Milliseconds until a restart after an unrequested end; null for no restart. */
  readonly restartIn: (end: ComponentEnd) => number | null;
}

/** Receives changes and messages of a component. */
export interface ComponentListener {
  changed(status: ComponentStatus): void;
  /** Receives each message of the process, including its own state reports. */
  onMessage(message: unknown): void;
}

export interface ComponentDeps {
  readonly children: Pick<LastingChildren, "spawn">;
  readonly timers: Timers;
  readonly clock: Clock;
}

/** Milliseconds of readiness after which the count of ends is reset. */
const SOUND = 60_000;

/** A process of `compute-agent up` from start to stop, or a process of another program that replaces it. */
export class Component {
  readonly name: string;
  readonly #options: ComponentOptions;
  readonly #deps: ComponentDeps;
  readonly #listener: ComponentListener;
  #child: LastingChild | undefined;
  #status: ComponentStatus;
  /** The child's reason for its failure. */
  #reason = "";
  /** Monotonic time since which it is ready. */
  #readySince: number | undefined;
  #wasReady = false;
  #times = 0;
  #cancelRestart: CancelTimer | undefined;
  /** Pid of a process that replaces this one and is not a child. */
  #substitute: number | null = null;
  /** Its end was requested, so it is not restarted. */
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

  /** Returns true if it has a process. */
  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Returns true if another program started the process that replaces it. */
  get isElsewhere(): boolean {
    return this.#child === undefined && this.#substitute !== null;
  }

  /** Starts the process. @param why readable reason of a restart @throws {FileFailure} if the log cannot be written */
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

  /** Records that it is not started, and why. It can be started later. */
  leaveDown(state: "stopped" | "killed", why: string): void {
    this.#set(state, why);
  }

  /** Starts it with a reset restart count, after an ending process has ended; does nothing if it runs. */
  async startAgain(): Promise<void> {
    while (this.#isToEnd && this.#child !== undefined) {
      await this.#child.exited;
    }
    if (this.#child === undefined && this.#substitute === null) {
      this.#times = 0;
      this.start();
    }
  }

  /** Stops it; without an end after `grace` ms, if set, it is killed. Resolves with the final status. */
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
    // Saved first: another waiter may restart the component upon this end.
    const ended = this.#status;
    waiting.abort();
    await tooLong;
    return ended;
  }

  /** Kills it with SIGKILL. Resolves with the final status. Only {@link startAgain} restarts it. */
  async kill(): Promise<ComponentStatus> {
    this.#endRestarts("killed");
    this.#isToEnd = true;
    this.#child?.signal("SIGKILL");
    await this.#child?.exited;
    return this.#status;
  }

  /**
   * Ends its work as SIGKILL would, but retains its process for the next start of the same component. A process that
   * cannot be retained is killed. Resolves when none of its work remains.
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

  /** Sends a message to its process. Returns false if there is none. */
  send(message: object): boolean {
    this.#child?.send(message);
    return this.#child !== undefined;
  }

  /** Sets the process that does this component's work: its child, another process, or null for none. */
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
    if (!isMessage(message, "component")) {
      return;
    }
    if (message.state === "failed") {
      // The process reports the reason before it exits.
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
      this.#restart(`ended with ${how}; restarted`);
    } else {
      this.#set("restarting", `restarting in ${Math.ceil(wait / 1000)} s after its end: ${how}`, exit.code);
      this.#cancelRestart = this.#deps.timers.after(wait, () => {
        this.#cancelRestart = undefined;
        this.#restart("restarted");
      });
    }
  }

  #restart(why: string): void {
    try {
      this.start(why);
    } catch (error) {
      this.#set("failed", errorMessage(error));
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

/** Exit codes of intentional ends; see the README. */
const FORESEEN: readonly (number | null)[] = [0, 2, 3, 4, 5];

/** Signals of intentional ends by users; any other signal is a crash. */
const MEANT: readonly (string | null)[] = ["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT"];

/** Max immediate restarts of the control plane. */
const RESTARTS = 5;

const agentDelay = backOff({ first: 1_000, most: 60_000 });

/**
 * Restarts an agent that failed unexpectedly, with a growing delay. An agent that a user killed stays down, as in a host
 * failure.
 */
export function agentRestart({ code, signal, times }: ComponentEnd): number | null {
  const isMeant = signal === null ? FORESEEN.includes(code) : MEANT.includes(signal);
  return isMeant ? null : agentDelay(times);
}

/** Restarts the control plane immediately after any end, unless it exited on purpose or was never ready. */
export function controlPlaneRestart({ code, signal, wasReady, times }: ComponentEnd): number | null {
  const isExpectedExit = signal === null && FORESEEN.includes(code);
  return wasReady && !isExpectedExit && times <= RESTARTS ? 0 : null;
}
