import type { Timers } from "../../runtime/timers.js";
import { nodeLocked } from "./ironic-error.js";

/** `[conductor] node_locked_retry_attempts`, `node_locked_retry_interval` (milliseconds). */
const ATTEMPTS = 3;
const INTERVAL = 1_000;

/** The name that the conductor reserves nodes with. */
export const CONDUCTOR_HOST = "localhost";

/** A lock on a node keeps everybody else from changing it. Locks are the process's: what goes on after a restart takes them again. */
export class NodeLocks {
  readonly #timers: Timers;
  readonly #held = new Set<string>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /** What the node's `reservation` shows. */
  holder(uuid: string): string | null {
    return this.#held.has(uuid) ? CONDUCTOR_HOST : null;
  }

  /** @throws {IronicError} 409 after three tries */
  async acquire(uuid: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      if (this.tryAcquire(uuid)) {
        return;
      }
      if (attempt === ATTEMPTS) {
        throw nodeLocked(uuid, CONDUCTOR_HOST);
      }
      await this.#timers.sleep(INTERVAL);
    }
  }

  tryAcquire(uuid: string): boolean {
    if (this.#held.has(uuid)) {
      return false;
    }
    this.#held.add(uuid);
    return true;
  }

  release(uuid: string): void {
    this.#held.delete(uuid);
  }
}
