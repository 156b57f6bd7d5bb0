import { HostLeaseHeld } from "../../conductor-client/errors.js";
import { LEASE_LOST, type LeaseHolder } from "../../conductor-client/methods/session.js";
import type { Clock } from "../../runtime/time.js";
import type { HostLease } from "../store/host-records.js";
import type { Store } from "../store/store.js";
import type { AgentIdentity, Session } from "./session.js";

/** Called when a host changes hands, with the pid of the agent that holds it now; null: no agent that is connected. */
export type HolderListener = (host: string, pid: number | null) => void;

interface Holding {
  readonly lease: HostLease;
  /** The holder's connection; undefined: it ended. */
  readonly session: Session | undefined;
  /** Monotonic; when the lease ends without a connection. */
  readonly deadline: number;
  /** The boot was killed while its connection lives on: nothing of it is let in any more. */
  readonly killed?: boolean;
}

/**
 * Decides who may act for which host (spec 2.4 G6). A lease belongs to one boot of one host's agent; several may share a
 * connection. While that is alive, and nobody has killed the boot on it, nobody else gets the lease; after that it stays for `ttl`,
 * in which the holder, going by its own clock, has stopped to act.
 */
export class HostLeases {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #ttl: number;
  readonly #onHolder: HolderListener;
  readonly #holdings = new Map<string, Holding>();

  /** @param ttl milliseconds. After a restart every known holder has that long to come back. */
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

  /** The connection that holds the host now. */
  holder(host: string): Session | undefined {
    return this.#holdings.get(host)?.session;
  }

  /** Whether that boot holds the host on that connection now. */
  isHolder(host: string, session: Session, bootId: string): boolean {
    const holding = this.#holdings.get(host);
    return holding?.session === session && holding.lease.bootId === bootId;
  }

  /** When the boot that holds the host took it first, milliseconds since the epoch; null: no boot that is connected holds it. */
  acquiredAt(host: string): number | null {
    const holding = this.#holdings.get(host);
    return holding?.session === undefined ? null : holding.lease.acquiredAt;
  }

  /**
   * Each holder has a greater epoch than those before it; the same boot keeps its own. `loser`: the connection on which another
   * boot, or this one before, had the host, if there is one; it may be this very connection.
   * @throws {HostLeaseHeld} another boot has it, or this one was killed.
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
      // Not what is known here: the transaction around an earlier try may not have been committed, and the epoch be another boot's.
      const isRecorded = leases.get(host)?.bootId === bootId;
      leases.put(lease);
      // A lease of an earlier release has none yet.
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

  /** That boot of the host was killed, as if its connection had ended. False: it does not hold the host on this connection. */
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

  /** False: that boot did not hold it. */
  release(host: string, bootId: string): boolean {
    if (this.#holdings.get(host)?.lease.bootId !== bootId) {
      return false;
    }
    this.#holdings.delete(host);
    this.#onHolder(host, null);
    return this.#store.leases.remove(host, bootId);
  }

  /** @throws {HostLeaseHeld} another boot holds the host, or this one was killed: what it does for the host could collide. */
  assertHolder(host: string, bootId: string | undefined): void {
    const current = this.#holdings.get(host);
    if (current && (current.lease.bootId !== bootId || current.killed)) {
      throw this.#held(current);
    }
  }

  /** The connection ended: its leases run from now, or from its last sign of life when it had fallen silent. */
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
    // A connection is a sign of life, even if the newcomer sees no process of that pid. Only its own process may know better.
    if (session !== undefined) {
      return session === newcomer && holderIsDead === lease.bootId;
    }
    // Only an agent on the same machine can know that the process is gone.
    const dead = holderIsDead === lease.bootId && lease.machine === agent.machine;
    return dead || this.#clock.monotonic() >= deadline;
  }

  /** The holder that keeps others from the host; null: there is none. */
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

  #held(holding: Holding): HostLeaseHeld {
    const data = this.#holder(holding);
    const { host, bootId, pid, machine, seenAgo: silenceMs, freeIn } = data;
    const wait = freeIn === null ? "" : ` (if it does not come back, the host is free in ${seconds(freeIn)})`;
    return new HostLeaseHeld(
      `host ${host} is held by another live agent: pid ${pid} on machine ${machine}, boot id ${bootId}, ` +
        `last seen ${seconds(silenceMs)} ago${wait}. Stop that agent, or start this one with another --host`,
      { ...data },
    );
  }
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
