import type { CancelTimer, Timers } from "../runtime/time.js";
import type { VirtualMachine } from "./virtual-machine.js";

/** What plans events: the world. */
export interface Planner {
  plan(milliseconds: number, action: () => void): CancelTimer;
  /** Milliseconds that a door takes now. */
  delay(): number;
}

/** A simulated process. Once killed, nothing it waits for ever comes: no timer, no answer, no frame. */
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

  /** As `kill -9`. What others see of it (broken connections, a dead pid) happens at once. */
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

  /** Calls `action` when the process is killed; returns what forgets it. */
  onKill(action: () => void): () => void {
    this.#onKill.add(action);
    return () => this.#onKill.delete(action);
  }

  /** Doors that it has come through: answers, timers, messages. */
  get passed(): number {
    return this.#passed;
  }

  /** It is killed as soon as it comes through its next door but `doors`. */
  killAfter(deliveries: number): void {
    this.#last = this.#passed + deliveries;
  }

  /** The process comes through a door. False: it is dead, or dies at it. */
  pass(): boolean {
    this.#passed += 1;
    if (this.#passed > this.#last) {
      this.kill();
    }
    return this.#alive;
  }

  /** What is done at once, and whose answer may take a while. @param least milliseconds */
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

  /** The result of `work` if the process lives when it begins and when it ends; otherwise a promise that never settles. */
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
    return this.whileAlive(() => {
      signal?.throwIfAborted();
      return new Promise<void>((resolve, reject) => {
        const abort = () => {
          cancel();
          reject(signal?.reason);
        };
        const cancel = this.after(milliseconds, () => {
          signal?.removeEventListener("abort", abort);
          resolve();
        });
        signal?.addEventListener("abort", abort, { once: true });
      });
    });
  }
}

function never<T>(): Promise<T> {
  return new Promise(() => {});
}
