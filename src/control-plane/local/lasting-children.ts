import type { Child, ChildExit, Children, SpawnOptions } from "../../runtime/processes.js";
import type { Timers } from "../../runtime/time.js";
import { type GoOn, isMessage, type Rest } from "./reports.js";

/** Milliseconds for a child to end its work. Then it is killed, since the work need not be saved. */
const STOP_TIMEOUT_MS = 3_000;

/** A child process that can be reused for other work. */
export interface LastingChild extends Child {
  /**
   * Ends the child's work as SIGKILL would. Resolves when none of it remains: true if the process waits for other work,
   * false if it has ended.
   */
  rest(): Promise<boolean>;
}

/**
 * Children whose processes are reused, since starting a program takes longer than a restart within it. The next `spawn`
 * with the same module and log gets an idle process.
 */
export class LastingChildren implements Children {
  readonly #children: Children;
  readonly #timers: Timers;
  readonly #resting = new Map<string, Lasting>();

  constructor(children: Children, timers: Timers) {
    this.#children = children;
    this.#timers = timers;
  }

  /** @throws {FileFailure} if the log cannot be written */
  spawn(options: SpawnOptions): LastingChild {
    const key = keyOf(options);
    const resting = this.#resting.get(key);
    this.#resting.delete(key);
    if (resting !== undefined && !resting.hasEnded) {
      resting.goOn(options.args);
      return resting;
    }
    const child = new Lasting(this.#children.spawn(options), this.#timers, () => this.#resting.set(key, child));
    return child;
  }

  /** Ends the processes that were not reused. */
  async end(): Promise<void> {
    const unused = [...this.#resting.values()];
    this.#resting.clear();
    await Promise.all(unused.map((child) => child.kill()));
  }
}

const keyOf = ({ module, logFile }: SpawnOptions): string => `${module}\0${logFile}`;

class Lasting implements LastingChild {
  readonly pid: number;
  readonly #child: Child;
  readonly #timers: Timers;
  readonly #onRest: () => void;
  #listener: (message: unknown) => void = () => undefined;
  #hasEnded = false;
  /** One promise per work item: a promise for the long-lived process would retain every waiter. */
  #exited: Promise<ChildExit>;
  #exit: (exit: ChildExit) => void = () => undefined;
  #rests: (() => void) | undefined;

  constructor(child: Child, timers: Timers, onRest: () => void) {
    this.#child = child;
    this.#timers = timers;
    this.#onRest = onRest;
    this.pid = child.pid;
    this.#exited = this.#untilExit();
    child.onMessage((message) => this.#hear(message));
    void child.exited.then((exit) => {
      this.#hasEnded = true;
      this.#exit(exit);
    });
  }

  get exited(): Promise<ChildExit> {
    return this.#exited;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  /** Sets the listener for messages of the current work. */
  onMessage(listener: (message: unknown) => void): void {
    this.#listener = listener;
  }

  send(message: object): void {
    this.#child.send(message);
  }

  release(): void {
    this.#child.release();
  }

  signal(name: Parameters<Child["signal"]>[0]): void {
    this.#child.signal(name);
  }

  async rest(): Promise<boolean> {
    const resting = new Promise<true>((resolve) => {
      this.#rests = () => resolve(true);
    });
    // Messages of the ended work are dropped.
    this.#listener = () => undefined;
    this.#child.send({ type: "rest" } satisfies Rest);
    const cancel = this.#timers.after(STOP_TIMEOUT_MS, () => this.#child.signal("SIGKILL"));
    const rests = await Promise.race([resting, this.#exited.then(() => false as const)]);
    cancel();
    if (rests) {
      this.#onRest();
    }
    return rests;
  }

  goOn(args: readonly string[]): void {
    this.#exited = this.#untilExit();
    this.#child.send({ type: "go-on", args } satisfies GoOn);
  }

  async kill(): Promise<void> {
    this.#child.signal("SIGKILL");
    await this.#exited;
  }

  #untilExit(): Promise<ChildExit> {
    return new Promise((resolve) => {
      this.#exit = resolve;
    });
  }

  #hear(message: unknown): void {
    if (this.#rests !== undefined && isMessage(message, "resting")) {
      this.#rests();
      this.#rests = undefined;
    } else {
      this.#listener(message);
    }
  }
}
