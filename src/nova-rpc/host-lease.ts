import { ConductorError } from "../conductor-client/errors.js";
import { BrokerRejectedError, type Consumer, type MessageBroker } from "../runtime/message-broker.js";
import type { Runtime } from "../runtime/runtime.js";
import { ALTERNATE_TOPIC, COMPUTE_TOPIC, hostQueue, type Topology } from "./transport/topology.js";

/** Poll interval in milliseconds while another agent has the host. */
const LOOK_AGAIN = 1_000;

interface Options {
  readonly host: string;
  readonly broker: MessageBroker;
  readonly topology: Topology;
  readonly runtime: Pick<Runtime, "clock" | "timers" | "logger">;
  /** Milliseconds without a heartbeat after which the broker closes a connection. */
  readonly heartbeatTimeoutMs: number;
}

/**
 * Returns the queue of the host that has a consumer; null if there is none. During its shutdown, a nova-compute of 2026.1 or
 * later reads only the queue of the alternate topic.
 */
export async function readQueue(broker: MessageBroker, host: string): Promise<string | null> {
  const queues = [hostQueue(COMPUTE_TOPIC, host), hostQueue(ALTERNATE_TOPIC, host)];
  const readers = await Promise.all(queues.map((queue) => broker.consumersOf(queue)));
  return queues.find((_queue, at) => (readers[at] ?? 0) > 0) ?? null;
}

/**
 * Gives one agent exclusive use of a host, enforced by the broker: the host's queue has no other consumer, and a lease queue
 * is exclusive to the owner's connection. Real nova-computes use neither, but cannot read the queue at the same time.
 */
export class HostLease {
  readonly lost: Promise<string>;
  readonly #options: Options;
  #lose: (reason: string) => void = () => {};
  #holder: Consumer | null = null;
  /** Monotonic time of the first rejected reconnection. */
  #rejectedSince: number | null = null;
  /** Each is called at the next change. */
  #waiting: (() => void)[] = [];

  constructor(options: Options) {
    this.#options = options;
    this.lost = new Promise((resolve) => {
      this.#lose = (reason) => {
        resolve(reason);
        this.#changed();
      };
    });
  }

  get held(): boolean {
    return this.#holder?.active ?? false;
  }

  /** Acquires the lease; waits until the connection of a previous owner that has ended is closed. @throws {HostLeaseHeld} */
  async acquire(): Promise<void> {
    const { runtime, heartbeatTimeoutMs } = this.#options;
    const { clock, timers } = runtime;
    const deadline = clock.monotonic() + heartbeatTimeoutMs;
    for (let hasWarned = false; ; hasWarned = true) {
      const reason = (await this.#otherReader()) ?? (await this.#take());
      if (reason === null) {
        return;
      }
      if (clock.monotonic() >= deadline) {
        throw new ConductorError("HostLeaseHeld", reason, { host: this.#options.host });
      }
      if (!hasWarned) {
        runtime.logger.warn(`${reason}; waiting ${heartbeatTimeoutMs / 1000} s in case that is a dead connection`);
      }
      await timers.sleep(LOOK_AGAIN);
    }
  }

  /** Handles the broker's rejection of this agent's reconnection to a queue of the host. */
  rejected(error: BrokerRejectedError): void {
    const { runtime, heartbeatTimeoutMs, host } = this.#options;
    const now = runtime.clock.monotonic();
    this.#rejectedSince ??= now;
    // At first our own old connection may still have the queue.
    if (now - this.#rejectedSince >= heartbeatTimeoutMs) {
      this.#lose(`the broker has given host ${host} to another connection: ${error.message}`);
    }
  }

  returned(): void {
    this.#rejectedSince = null;
    this.#changed();
  }

  /** Resolves when a queue of the host is read again, or the lease has ended. */
  change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  async release(): Promise<void> {
    const holder = this.#holder;
    this.#holder = null;
    this.#changed();
    await holder?.close();
  }

  #changed(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) {
      resolve();
    }
  }

  /** Returns why the host is not free; null if no consumer reads its queues. */
  async #otherReader(): Promise<string | null> {
    const { broker, host } = this.#options;
    const queue = await readQueue(broker, host);
    return queue === null ? null : `queue ${queue} is read by another nova-compute: host ${host} is in use`;
  }

  async #take(): Promise<string | null> {
    const { broker, topology, host } = this.#options;
    try {
      this.#holder = await broker.consume(topology.lease(host), {
        message: () => {},
        rejected: (error) => this.rejected(error),
        active: () => this.returned(),
      });
      return null;
    } catch (error) {
      if (!(error instanceof BrokerRejectedError)) {
        throw error;
      }
      this.#rejectedSince = null;
      return `host ${host} is in use by another compute-agent (${error.message})`;
    }
  }
}
