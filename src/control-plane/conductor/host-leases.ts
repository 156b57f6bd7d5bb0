import { ConductorError } from "../../conductor-client/errors.js";
import { LEASE_LOST, type LeaseHolder } from "../../conductor-client/methods/session.js";
import type { Clock } from "../../runtime/time.js";
import type { HostLease } from "../store/host-records.js";
import type { Store } from "../store/store.js";
import type { AgentIdentity, Session } from "./session.js";

/** Called when a host's lease changes, with the pid of its holder; null if no connected agent has it. */
export type HolderListener = (host: string, pid: number | null) => void;

interface Holding {
  readonly lease: HostLease;
  /** The holder's connection; undefined if it has ended. */
  readonly session: Session | undefined;
  /** Monotonic time at which a lease without a connection expires. */
  readonly deadline: number;
  /** The boot was killed while its connection stays open; its messages are rejected. */
  readonly killed?: boolean;
}

/**
 * Decides which agent can act for a host (spec 2.4 G6). A lease belongs to one boot of a host's agent; several boots may
 * share a connection. While the connection is open and the boot was not killed, no other boot gets the lease. Afterwards
 * it remains for `ttl` ms; by then the holder has stopped acting, by its own clock.
 */
export class HostLeases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttl: number;
  readonly #onHolder: HolderListener;
  readonly #holdings = new Map<string, Holding>();

  /** @param ttl milliseconds; after a restart, stored holders have that long to reconnect */
  constructor(store: Store, clock: Clock, ttl: number, onHolder: HolderListener = () => undefined) {
    this.#store = store;
    this.#clock = clock;
    this.#ttl = ttl;
    this.#onHolder = onHolder;
    const deadline = clock.monotonic() + ttl;
    for (const lease of store.leases.list()) {
      this.#holdings.set(lease.host, { lease, session: undefined, deadline });
    }
  }

  /** Returns the connection of the host's current holder. */
  holder(host: string): Session | undefined {
    return this.#holdings.get(host)?.session;
  }

  /** Returns true if this boot, on this connection, is the host's current holder. */
  isHolder(host: string, session: Session, bootId: string): boolean {
    const holding = this.#holdings.get(host);
    return holding?.session === session && holding.lease.bootId === bootId;
  }

  /** Returns when the current boot first acquired the host, milliseconds since the epoch; null if no connected boot has it. */
  acquiredAt(host: string): number | null {
    const holding = this.#holdings.get(host);
    return holding?.session === undefined ? null : holding.lease.acquiredAt;
  }

  /**
   * Acquires the lease. Each new boot gets a higher epoch; a boot that acquires again has the same epoch. `loser` is the
   * previous connection of the host's lease, if any; it may be this very connection.
   * @throws {HostLeaseHeld} if another boot has the lease, or this one was killed
   */
  acquire(
    host: string,
    session: Session,
    agent: AgentIdentity,
    holderIsDead?: string,
  ): { readonly epoch: number; readonly loser: Session | undefined } {
    const current = this.#holdings.get(host);
    if (current && !this.#mayPass(current, session, agent, holderIsDead)) {
      throw this.#held(current);
    }
    const now = this.#clock.now();
    const { bootId, pid, machine } = agent;
    const mine = current?.lease.bootId === bootId;
    const lease = { host, bootId, pid, machine, acquiredAt: mine ? current.lease.acquiredAt : now, renewedAt: now };
    const { leases } = this.#store;
    const epoch = this.#store.transaction(() => {
      // Reads the store instead of memory: an earlier attempt may have been rolled back, and its epoch assigned to another boot.
      const isRecorded = leases.get(host)?.bootId === bootId;
      leases.put(lease);
      // Leases of earlier releases have no epoch.
      return (isRecorded && leases.epoch(host)) || leases.nextEpoch(host);
    });
    this.#holdings.set(host, { lease, session, deadline: 0 });
    this.#onHolder(host, pid);
    const loser = mine && current.session === session ? undefined : current?.session;
    if (loser !== session) {
      loser?.notify(LEASE_LOST, { host, reason: `the agent with pid ${pid} and boot id ${bootId} took host ${host}` });
    }
    return { epoch, loser };
  }

  /** Marks a boot as killed, as if its connection had ended. Returns false if it is not the holder on this connection. */
  killed(host: string, bootId: string, session: Session): boolean {
    const current = this.#holdings.get(host);
    if (current?.session !== session || current.lease.bootId !== bootId) {
      return false;
    }
    const lease = { ...current.lease, renewedAt: this.#clock.now() };
    this.#holdings.set(host, {
      lease,
      session: undefined,
      deadline: this.#clock.monotonic() + this.#ttl,
      killed: true,
    });
    this.#onHolder(host, null);
    this.#store.leases.put(lease);
    return true;
  }

  /** Returns false if the boot did not have the lease. */
  release(host: string, bootId: string): boolean {
    if (this.#holdings.get(host)?.lease.bootId !== bootId) {
      return false;
    }
    this.#holdings.delete(host);
    this.#onHolder(host, null);
    return this.#store.leases.remove(host, bootId);
  }

  /** @throws {HostLeaseHeld} if another boot has the lease, or this one was killed: its actions could conflict */
  assertHolder(host: string, bootId: string | undefined): void {
    const current = this.#holdings.get(host);
    if (current && (current.lease.bootId !== bootId || current.killed)) {
      throw this.#held(current);
    }
  }

  /** Starts the expiry of a closed connection's leases: from now, or from its last frame if it was silent for `ttl`. */
  sessionEnded(session: Session): void {
    const now = this.#clock.monotonic();
    const silence = now - session.lastFrameAt;
    const start = silence >= this.#ttl ? session.lastFrameAt : now;
    const observedAt = Math.round(this.#clock.now() - silence);
    const mine = [...this.#holdings].filter(([, holding]) => holding.session === session);
    if (mine.length === 0) {
      return;
    }
    const updatedLeases = mine.map(([, { lease }]) => ({ ...lease, renewedAt: observedAt }));
    for (const lease of updatedLeases) {
      this.#holdings.set(lease.host, { lease, session: undefined, deadline: start + this.#ttl });
      this.#onHolder(lease.host, null);
    }
    this.#store.transaction(() => {
      for (const lease of updatedLeases) {
        this.#store.leases.put(lease);
      }
    });
  }

  #mayPass(
    { lease, session, deadline, killed = false }: Holding,
    newcomer: Session,
    agent: AgentIdentity,
    holderIsDead: string | undefined,
  ): boolean {
    if (lease.bootId === agent.bootId) {
      return !killed;
    }
    // An open connection protects the lease, even if the new agent finds no such process. Only the same connection can
    // replace it.
    if (session !== undefined) {
      return session === newcomer && holderIsDead === lease.bootId;
    }
    // Only an agent on the same machine can know that the process has ended.
    const dead = holderIsDead === lease.bootId && lease.machine === agent.machine;
    return dead || this.#clock.monotonic() >= deadline;
  }

  /** Returns the holder that blocks others from the host; null if the host is free. */
  describe(host: string): LeaseHolder | null {
    const holding = this.#holdings.get(host);
    const free =
      holding === undefined || (holding.session === undefined && this.#clock.monotonic() >= holding.deadline);
    return free ? null : this.#holder(holding);
  }

  #holder({ lease, session, deadline }: Holding): LeaseHolder {
    const { host, bootId, pid, machine } = lease;
    const connected = session !== undefined;
    const now = this.#clock.monotonic();
    const silenceMs = Math.max(0, session ? now - session.lastFrameAt : this.#clock.now() - lease.renewedAt);
    const freeIn = connected ? null : Math.max(0, deadline - now);
    return { host, bootId, pid, machine, seenAgo: silenceMs, connected, freeIn };
  }

  #held(holding: Holding): ConductorError {
    const data = this.#holder(holding);
    const { host, bootId, pid, machine, seenAgo: silenceMs, freeIn } = data;
    const wait = freeIn === null ? "" : ` (if it does not come back, the host is free in ${seconds(freeIn)})`;
    return new ConductorError(
      "HostLeaseHeld",
      `host ${host} is held by another live agent: pid ${pid} on machine ${machine}, boot id ${bootId}, ` +
        `last seen ${seconds(silenceMs)} ago${wait}. Stop that agent, or start this one with another --host`,
      { ...data },
    );
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
