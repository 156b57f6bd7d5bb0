import { never } from "../runtime/lifetime.js";
import { type CancelTimer, sleepBy, type Timers } from "../runtime/time.js";
import type { VirtualMachine } from "./virtual-machine.js";

/** Plans events; implemented by the world. */
export interface Planner {
  plan(milliseconds: number, action: () => void): CancelTimer;
  /** Returns the latency of an I/O operation in milliseconds. */
  delay(): number;
}

/** A simulated process. Once killed, it receives nothing more: no timer, response or frame. */
export class VirtualProcess implements Timers {
  readonly name: string;
  readonly pid: number;
  readonly machine: VirtualMachine;
  readonly #planner: Planner;
  readonly #onKill = new Set<() => void>();
  readonly #forgetPower: () => void;
  #alive = true;
  #passed = 0;
  #last = Number.POSITIVE_INFINITY;

  constructor(name: string, machine: VirtualMachine, planner: Planner) {
    this.name = name;
    this.machine = machine;
    this.#planner = planner;
    this.pid = machine.startProcess();
    this.#forgetPower = machine.onPowerLoss(() => this.kill());
  }

  get alive(): boolean {
    return this.#alive;
  }

  /** Kills the process as `kill -9` does. Broken connections and the dead pid are visible to others immediately. */
  kill(): void {
    if (!this.#alive) {
      return;
    }
    this.#alive = false;
    this.#forgetPower();
    this.machine.endProcess(this.pid);
    for (const action of [...this.#onKill]) {
      action();
    }
    this.#onKill.clear();
  }

  /** Calls `action` when the process is killed. Returns a function that removes it. */
  onKill(action: () => void): () => void {
    this.#onKill.add(action);
    return () => this.#onKill.delete(action);
  }

  /** The number of deliveries so far: responses, timers, messages. */
  get passed(): number {
    return this.#passed;
  }

  /** Kills the process at the delivery that follows the next `deliveries` ones. */
  killAfter(deliveries: number): void {
    this.#last = this.#passed + deliveries;
  }

  /** Counts a delivery. Returns false if the process is dead or is killed by this delivery. */
  pass(): boolean {
    this.#passed += 1;
    if (this.#passed > this.#last) {
      this.kill();
    }
    return this.#alive;
  }

  /**
   * Runs `work` immediately, but may delay its result.
   * @param least min delay in milliseconds
   */
  async withLatency<T>(work: () => T, least = 0): Promise<T> {
    return this.whileAlive(async () => {
      const delay = least + this.#planner.delay();
      try {
        return work();
      } finally {
        if (delay > 0) {
          await new Promise<void>((resolve) => this.after(delay, resolve));
        }
      }
    });
  }

  /** Settles as `work` does if the process is alive at its start and end; otherwise never settles. */
  async whileAlive<T>(work: () => T | Promise<T>): Promise<T> {
    if (!this.#alive) {
      return never();
    }
    try {
      const result = await work();
      return this.pass() ? result : await never();
    } catch (error) {
      if (this.pass()) {
        throw error;
      }
      return never();
    }
  }

  after(milliseconds: number, action: () => void): CancelTimer {
    if (!this.#alive) {
      return () => {};
    }
    return this.#planner.plan(milliseconds, () => {
      if (this.#alive && this.pass()) {
        action();
      }
    });
  }

  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    return this.whileAlive(() => sleepBy((...timer) => this.after(...timer), milliseconds, signal));
  }
}
