import type { Child, ChildExit, Children } from "../../runtime/children.js";
import { isComponentReport } from "../../runtime/children.js";
import type { Clock } from "../../runtime/clock.js";
import type { Timers } from "../../runtime/timers.js";

export type ComponentState = "starting" | "waiting" | "ready" | "stopping" | "stopped" | "failed" | "killed";

export interface ComponentStatus {
  readonly name: string;
  readonly state: ComponentState;
  /** What a person wants to read beside the state. */
  readonly detail: string;
  readonly pid: number | null;
}

export interface ComponentOptions {
  readonly name: string;
  readonly module: string;
  /** Asked at each start. */
  readonly args: () => readonly string[];
  readonly logFile: string;
  /** Started again when it ends without being told to; five times a minute at most. */
  readonly keepAlive: boolean;
}

const RESTARTS = 5;
const RESTART_WINDOW = 60_000;

/** One child process of `compute-cluster up`, from start to stop. */
export class Component {
  readonly name: string;
  readonly #options: ComponentOptions;
  readonly #children: Children;
  readonly #timers: Timers;
  readonly #clock: Clock;
  readonly #changed: (status: ComponentStatus, url: string | undefined) => void;
  #child: Child | undefined;
  #status: ComponentStatus;
  #restarts: number[] = [];

  constructor(
    options: ComponentOptions,
    doors: { readonly children: Children; readonly timers: Timers; readonly clock: Clock },
    changed: (status: ComponentStatus, url: string | undefined) => void,
  ) {
    this.name = options.name;
    this.#options = options;
    this.#children = doors.children;
    this.#timers = doors.timers;
    this.#clock = doors.clock;
    this.#changed = changed;
    this.#status = { name: options.name, state: "starting", detail: "", pid: null };
  }

  get status(): ComponentStatus {
    return this.#status;
  }

  /** @param why it starts again; for the person who watches. */
  start(why?: string): void {
    const child = this.#children.spawn({ ...this.#options, args: this.#options.args() });
    this.#child = child;
    this.#set("starting", why === undefined ? `pid ${child.pid}` : `pid ${child.pid}; ${why}`);
    child.onMessage((message) => {
      if (this.#child === child && isComponentReport(message)) this.#set(message.state, message.detail, message.url);
    });
    void child.exited.then((exit) => this.#ended(child, exit));
  }

  /** Asks it to stop; after `grace` ms it is killed. Resolves when it has ended. */
  async stop(grace: number): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#set("stopping", "");
    child.signal("SIGTERM");
    const waiting = new AbortController();
    const tooLong = this.#timers.sleep(grace, waiting.signal).then(
      () => child.signal("SIGKILL"),
      () => undefined,
    );
    await child.exited;
    waiting.abort();
    await tooLong;
  }

  #ended(child: Child, exit: ChildExit): void {
    if (this.#child !== child) return;
    this.#child = undefined;
    if (this.#status.state === "stopping" || exit.code === 0) {
      this.#set("stopped", "");
      return;
    }
    const how = exit.signal === null ? `exit code ${exit.code}` : exit.signal;
    if (this.#options.keepAlive && this.#mayRestart()) {
      this.start(`ended with ${how}; started again`);
      return;
    }
    const said = this.#status.state === "failed" ? this.#status.detail : "";
    this.#set(exit.signal === null ? "failed" : "killed", said || `${how}; see ${this.#options.logFile}`);
  }

  #mayRestart(): boolean {
    const now = this.#clock.monotonic();
    this.#restarts = [...this.#restarts.filter((at) => now - at < RESTART_WINDOW), now];
    return this.#restarts.length <= RESTARTS;
  }

  #set(state: ComponentState, detail: string, url?: string): void {
    this.#status = { name: this.name, state, detail, pid: this.#child?.pid ?? null };
    this.#changed(this.#status, url);
  }
}
