import type { Processes } from "../runtime/processes.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import { type ConductorError, isConductorError } from "./errors.js";
import type { GrantedLease, LeaseHolder } from "./methods/session.js";

/**
 * The owner stops acting when this share of the lease's lifetime has passed since it sent the last successful renewal. This
 * is strictly before the conductor, which counts from a later moment, gives the host to another agent.
 */
const FENCE = 0.8;

/** Maximum poll interval in milliseconds while another lease must end first. */
const LOOK_EVERY = 1_000;

/** Poll interval in milliseconds while the connection of a dead process must end first. */
const LOOK_AFTER_DEATH = 100;

export interface LeaseDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly processes: Processes;
  readonly logger: Logger;
}

/** Requests the lease from the conductor. @throws {HostLeaseHeld} */
export type AskForLease = (holderIsDead?: string) => Promise<void>;

/** One host's lease, from the owner's point of view (spec 2.4 G6). */
export class HostLease {
  readonly #host: string;
  readonly #deps: LeaseDeps;
  readonly lost: Promise<string>;
  #lose: (reason: string) => void = () => {};
  #state: "none" | "held" | "lost" = "none";
  #confirmedAt = 0;
  #ttl = 0;
  #epoch: number | null = null;

  constructor(host: string, deps: LeaseDeps) {
    this.#host = host;
    this.#deps = deps;
    this.lost = new Promise((resolve) => {
      this.#lose = resolve;
    });
  }

  /** Whether the lease is valid by this process's own monotonic clock. */
  get held(): boolean {
    return this.#state === "held" && this.#deps.clock.monotonic() < this.#confirmedAt + this.#ttl * FENCE;
  }

  /** The epoch of the last acquired lease, even if that has since been lost. */
  get epoch(): number | null {
    return this.#epoch;
  }

  /** Whether the lease was acquired and is not lost, although its renewal may be late. */
  get claimed(): boolean {
    return this.#state === "held";
  }

  /**
   * Acquires the lease. @param ended boots known to have ended, the latest last. @throws {HostLeaseHeld} another live agent
   * has it.
   */
  async acquire(ask: AskForLease, ended: ReadonlySet<string> = new Set()): Promise<void> {
    let dead = [...ended].at(-1);
    for (let before: LeaseHolder | undefined; ; ) {
      try {
        await ask(dead);
        return;
      } catch (error) {
        if (!isConductorError(error, "HostLeaseHeld")) {
          throw error;
        }
        const holder = error.data as unknown as LeaseHolder;
        const known = dead;
        dead = ended.has(holder.bootId) || this.#isDead(holder) ? holder.bootId : undefined;
        if (ended.has(holder.bootId) && dead !== known) {
          continue;
        }
        if (dead === undefined || dead === known || holder.connected) {
          await this.#waitFor(holder, before, error);
        }
        before = holder;
      }
    }
  }

  /** @param granted null if the conductor's release has no epochs */
  grant(sentAt: number, ttl: number, granted: GrantedLease | null): void {
    this.#epoch = granted?.epoch ?? null;
    this.confirm(sentAt, ttl);
  }

  /** Records a renewal by the conductor. @param sentAt monotonic time of the request */
  confirm(sentAt: number, ttl: number): void {
    if (this.#state !== "lost") {
      this.#state = "held";
      this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
      this.#ttl = ttl;
    }
  }

  lose(reason: string): void {
    this.#state = "lost";
    this.#lose(reason);
  }

  giveBack(): void {
    this.#state = "none";
  }

  /**
   * Whether the owner's process is dead. Known only if both share a PID namespace. This process's own pid belonged to an
   * earlier run.
   */
  #isDead({ machine, pid, connected }: LeaseHolder): boolean {
    const { processes } = this.#deps;
    const isOwn = pid === processes.pid && !connected;
    return machine === processes.machine && (isOwn || !processes.isAlive(pid));
  }

  /** Waits before the next poll. @throws the rejection if the owner is alive, so that waiting is useless */
  async #waitFor(holder: LeaseHolder, before: LeaseHolder | undefined, rejection: ConductorError): Promise<void> {
    if (holder.connected && (!this.#isDead(holder) || hasBeenActive(holder, before))) {
      throw rejection;
    }
    this.#deps.logger.warn(`waiting for the lease of host ${this.#host}: ${rejection.message}`, { host: this.#host });
    // The connection of a dead process ends when the conductor detects its end, or misses its pings.
    const wait = holder.connected ? LOOK_AFTER_DEATH : (holder.freeIn ?? LOOK_EVERY);
    await this.#deps.timers.sleep(Math.min(wait, LOOK_EVERY));
  }
}

/**
 * Whether the conductor received a message from the owner between two polls: then it is alive, even if this machine has no
 * such pid.
 */
function hasBeenActive(holder: LeaseHolder, before: LeaseHolder | undefined): boolean {
  return before?.bootId === holder.bootId && holder.seenAgo < before.seenAgo;
}
