import type { Processes } from "../runtime/processes.js";
import type { Logger } from "../runtime/runtime.js";
import type { Clock, Timers } from "../runtime/time.js";
import { HostLeaseHeld } from "./errors.js";
import type { GrantedLease, LeaseHolder } from "./methods/session.js";

/**
 * The holder stops to act when this share of the lease's time has passed since the last renewal that was answered, counted
 * from when that was sent: strictly before the conductor, which counts from a later moment, gives the host away.
 */
const FENCE = 0.8;

/** Longest wait between two looks at a lease that has to end first, ms. */
const LOOK_EVERY = 1_000;

/** Wait for the end of the connection of a process that is dead, ms. */
const LOOK_AFTER_DEATH = 100;

export interface LeaseDeps {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly processes: Processes;
  readonly logger: Logger;
}

/** Asks the conductor for the lease. @throws {HostLeaseHeld} */
export type AskForLease = (holderIsDead?: string) => Promise<void>;

/** One host's lease as its holder sees it (spec 2.4 G6). */
export class HostLease {
  readonly #host: string;
  readonly #deps: LeaseDeps;
  readonly lost: Promise<string>;
  readonly #lose: (reason: string) => void;
  #state: "none" | "held" | "lost" = "none";
  #confirmedAt = 0;
  #ttl = 0;
  #epoch: number | null = null;

  constructor(host: string, deps: LeaseDeps) {
    this.#host = host;
    this.#deps = deps;
    const { promise, resolve } = withResolver<string>();
    this.lost = promise;
    this.#lose = resolve;
  }

  /** By this process's own monotonic clock. */
  get held(): boolean {
    return this.#state === "held" && this.#deps.clock.monotonic() < this.#confirmedAt + this.#ttl * FENCE;
  }

  /** The epoch of the lease that was taken last, even if it is lost since. */
  get epoch(): number | null {
    return this.#epoch;
  }

  /** Taken and not lost, though perhaps not renewed in time. */
  get claimed(): boolean {
    return this.#state === "held";
  }

  /** @param ended boots that are known to have ended, the last one at the end. @throws {HostLeaseHeld} another live agent has it. */
  async acquire(ask: AskForLease, ended: ReadonlySet<string> = new Set()): Promise<void> {
    let dead = [...ended].at(-1);
    for (let before: LeaseHolder | undefined; ; ) {
      try {
        await ask(dead);
        return;
      } catch (error) {
        if (!(error instanceof HostLeaseHeld)) {
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

  /** @param granted null: the conductor is of a release that counts no epochs */
  grant(sentAt: number, ttl: number, granted: GrantedLease | null): void {
    this.#epoch = granted?.epoch ?? null;
    this.confirm(sentAt, ttl);
  }

  /** The conductor renewed it; `sentAt`: monotonic time when that was asked for. */
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

  /** Only where a pid means the same process; in another PID namespace it says nothing. This one's was that of a life before. */
  #isDead({ machine, pid, connected }: LeaseHolder): boolean {
    const { processes } = this.#deps;
    const isOwn = pid === processes.pid && !connected;
    return machine === processes.machine && (isOwn || !processes.isAlive(pid));
  }

  /** Waits before the next look. @throws the refusal when the holder lives, so that a wait is of no use. */
  async #waitFor(holder: LeaseHolder, before: LeaseHolder | undefined, rejection: HostLeaseHeld): Promise<void> {
    if (holder.connected && (!this.#isDead(holder) || hasBeenActive(holder, before))) {
      throw rejection;
    }
    this.#deps.logger.warn(`waiting for the lease of host ${this.#host}: ${rejection.message}`, { host: this.#host });
    // The connection of a dead process ends when the conductor hears of it, or misses its pings.
    const wait = holder.connected ? LOOK_AFTER_DEATH : (holder.freeIn ?? LOOK_EVERY);
    await this.#deps.timers.sleep(Math.min(wait, LOOK_EVERY));
  }
}

/** Whether the conductor heard of the holder between two looks: then it lives, even if this machine has no such pid. */
function hasBeenActive(holder: LeaseHolder, before: LeaseHolder | undefined): boolean {
  return before?.bootId === holder.bootId && holder.seenAgo < before.seenAgo;
}

function withResolver<T>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}
