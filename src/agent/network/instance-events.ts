import { PublicError } from "../../runtime/public-error.js";
import { SparseSet } from "../../runtime/sparse.js";
import type { Timers } from "../../runtime/timers.js";
import { within } from "../../runtime/within.js";

/** What a network service says of an instance. */
export interface InstanceEvent {
  /** `network-vif-plugged` */
  readonly name: string;
  /** Uuid of the port. */
  readonly tag: string | null;
  readonly status: string;
}

/** It says that what was waited for did not happen. */
export class InstanceEventFailed extends PublicError {
  override readonly name = "InstanceEventFailed";
}

interface Waiter {
  readonly uuid: string;
  /** Tags that have not been heard of. */
  readonly left: Set<string>;
  readonly received: () => void;
  readonly failed: (error: InstanceEventFailed) => void;
}

const PLUGGED = "network-vif-plugged";

/** Waits for events of instances, and begins before the action that leads to them (spec 8.6). */
export class InstanceEvents {
  readonly #timers: Timers;
  readonly #waiters = new SparseSet<Waiter>();

  constructor(timers: Timers) {
    this.#timers = timers;
  }

  /**
   * Runs `action`, and returns what it does when every one of the ports was said to be plugged.
   * @throws {TookTooLong} after `milliseconds` from the end of the action. {@link InstanceEventFailed}
   */
  async untilPlugged<T>(
    uuid: string,
    ports: readonly string[],
    action: () => Promise<T>,
    { milliseconds, signal }: { readonly milliseconds: number; readonly signal?: AbortSignal | undefined },
  ): Promise<T> {
    if (ports.length === 0) {
      return action();
    }
    let end = () => {};
    const all = new Promise<void>((received, failed) => {
      const waiter = { uuid, left: new Set(ports), received, failed };
      this.#waiters.add(waiter);
      end = () => this.#waiters.delete(waiter);
    });
    // The action may end otherwise first.
    all.catch(() => {});
    try {
      const result = await action();
      await within(
        this.#timers,
        milliseconds,
        `the network service, which was to plug ${ports.join(", ")},`,
        all,
        signal,
      );
      return result;
    } finally {
      end();
    }
  }

  /** False: nobody waits for it. */
  deliver(uuid: string, { name, tag, status }: InstanceEvent): boolean {
    let taken = false;
    for (const waiter of name === PLUGGED ? this.#waiters : []) {
      if (waiter.uuid !== uuid || !waiter.left.delete(tag ?? "")) {
        continue;
      }
      taken = true;
      if (status === "failed") {
        waiter.failed(new InstanceEventFailed(`${name} of port ${tag} failed`));
      } else if (waiter.left.size === 0) {
        waiter.received();
      }
    }
    return taken;
  }
}
