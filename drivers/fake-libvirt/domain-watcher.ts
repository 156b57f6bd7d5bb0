import {
  type CancelTimer,
  type Clock,
  type Files,
  type LifecycleEvent,
  type LifecycleTransition,
  type Logger,
  SparseMap,
  type Timers,
} from "../../src/virt/index.js";
import { type DomainState, UUID } from "./domain.js";
import type { DomainStore } from "./domain-store.js";
import { type HypervisorFolder, Stamp } from "./hypervisor.js";

/** Milliseconds after a look before the next: each reads the states of all guests. */
const PAUSE = 100;

export interface DomainWatcherDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  emitEvent(event: LifecycleEvent): void;
}

/**
 * Emits events for guests that were started, stopped, paused, resumed or removed from outside (spec 8.5). This driver
 * acts within {@link own}, and emits no event for that.
 */
export class DomainWatcher {
  readonly #folder: HypervisorFolder;
  readonly #store: DomainStore;
  readonly #deps: DomainWatcherDeps;
  readonly #stopDelay: number;
  readonly #known = new SparseMap<string, DomainState>();
  /** Held back news of stopped guests. */
  readonly #held = new SparseMap<string, CancelTimer>();
  /** The number of own operations under way. */
  readonly #busy = new SparseMap<string, number>();
  /** When (in looks) an own operation on the guest ended last. */
  readonly #touched = new SparseMap<string, number>();
  #pollCount = 0;
  #looking: Promise<void> | undefined;
  /** The guests that the next look is for; undefined: none, as no look is asked for. */
  #requestedUuids: ReadonlySet<string> | "all" | undefined;
  #unwatch: readonly (() => void)[] = [];
  #stopped = true;
  /** Tell whether a folder has changed since the last look. */
  readonly #stateStamp = new Stamp();
  readonly #domainStamp = new Stamp();

  /** @param stopDelay milliseconds that news of a stop is held back. */
  constructor(folder: HypervisorFolder, store: DomainStore, stopDelay: number, deps: DomainWatcherDeps) {
    this.#folder = folder;
    this.#store = store;
    this.#stopDelay = stopDelay;
    this.#deps = deps;
  }

  /** What is there now is no news. */
  async start(): Promise<void> {
    // Before the states are read: what changes meanwhile has another stamp at the next glance.
    await this.#isStampedAnew();
    for (const [uuid, state] of await this.#store.states()) {
      this.#known.set(uuid, state);
    }
    this.#stopped = false;
    const look = (names?: readonly string[]) => this.look(names);
    const { states, domains } = this.#folder;
    this.#unwatch = [states, domains].map((path) => this.#deps.files.watch(path, look));
  }

  stop(): void {
    this.#stopped = true;
    for (const unwatch of this.#unwatch) {
      unwatch();
    }
    for (const cancel of this.#held.values()) {
      cancel();
    }
    this.#held.clear();
  }

  /** Looks for news if the folders changed unseen, as they may on a network file system; each pass calls it. */
  async glance(): Promise<void> {
    if (await this.#isStampedAnew()) {
      this.look();
    }
  }

  /** Whether the folders may have changed since they were last asked for. */
  async #isStampedAnew(): Promise<boolean> {
    const { states, domains } = this.#folder;
    const unchanged = await Promise.all([
      this.#stateStamp.isUnchanged(states, this.#deps),
      this.#domainStamp.isUnchanged(domains, this.#deps),
    ]);
    return unchanged.includes(false);
  }

  /** Looks for news soon. @param names of files that changed; left out: all guests are looked at */
  look(names?: readonly string[]): void {
    if (this.#stopped) {
      return;
    }
    const uuids = names?.map((name) => name.replace(/\.xml$/, ""));
    // A name that is no guest's may be that of the folder, which is gone.
    const known = this.#requestedUuids !== "all" && uuids?.every((uuid) => UUID.test(uuid)) === true;
    this.#requestedUuids = known ? new Set([...(this.#requestedUuids ?? []), ...uuids]) : "all";
    this.#looking ??= this.#lookUntilQuiet();
  }

  /** Does something to a guest without an event. */
  async own<T>(uuid: string, work: () => Promise<T>): Promise<T> {
    this.#busy.set(uuid, (this.#busy.get(uuid) ?? 0) + 1);
    this.#release(uuid);
    try {
      return await work();
    } finally {
      await this.#remember(uuid);
      const others = (this.#busy.get(uuid) ?? 1) - 1;
      if (others > 0) {
        this.#busy.set(uuid, others);
      } else {
        this.#busy.delete(uuid);
      }
      if (this.#looking) {
        this.#touched.set(uuid, this.#pollCount);
      }
    }
  }

  async #remember(uuid: string): Promise<void> {
    try {
      const state = await this.#store.state(uuid);
      if (state) {
        this.#known.set(uuid, state);
      } else {
        this.#known.delete(uuid);
      }
    } catch (error) {
      this.#deps.logger.warn("the state of a guest cannot be read", { instance: uuid, err: error });
    }
  }

  async #lookUntilQuiet(): Promise<void> {
    while (this.#requestedUuids !== undefined && !this.#stopped) {
      const requestedUuids = this.#requestedUuids;
      this.#requestedUuids = undefined;
      try {
        await this.#lookOnce(requestedUuids);
      } catch (error) {
        this.#deps.logger.warn("the hypervisor's folder cannot be looked through", { err: error });
      }
      await this.#deps.timers.sleep(PAUSE);
    }
    this.#touched.clear();
    this.#looking = undefined;
  }

  async #lookOnce(requestedUuids: ReadonlySet<string> | "all"): Promise<void> {
    this.#pollCount += 1;
    const look = this.#pollCount;
    // What an own operation changed since this look began is known better than what was read.
    const own = (uuid: string) => this.#busy.has(uuid) || this.#touched.get(uuid) === look;
    const now = requestedUuids === "all" ? await this.#store.states() : await this.#statesOf(requestedUuids, own);
    for (const uuid of requestedUuids === "all" ? new Set([...this.#known.keys(), ...now.keys()]) : requestedUuids) {
      if (own(uuid)) {
        continue;
      }
      const before = this.#known.get(uuid);
      const state = now.get(uuid);
      if (before === state) {
        continue;
      }
      if (state) {
        this.#known.set(uuid, state);
      } else {
        this.#known.delete(uuid);
      }
      await this.#report(uuid, transitionOf(before, state));
    }
  }

  /** Reads the states of guests that no own operation changes: its end tells of the others. */
  async #statesOf(
    uuids: ReadonlySet<string>,
    own: (uuid: string) => boolean,
  ): Promise<ReadonlyMap<string, DomainState | undefined>> {
    const read = [...uuids].filter((uuid) => !own(uuid));
    return new Map(await Promise.all(read.map(async (uuid) => [uuid, await this.#store.state(uuid)] as const)));
  }

  async #report(uuid: string, transition: LifecycleTransition | undefined): Promise<void> {
    this.#release(uuid);
    if (!transition) {
      return;
    }
    const timestamp = this.#deps.clock.now();
    const name = (await this.#store.get(uuid))?.name ?? uuid;
    const emit = () => {
      if (!this.#stopped) {
        this.#deps.emitEvent({ timestamp, uuid, name, transition });
      }
    };
    if (transition !== "stopped" || this.#stopDelay === 0) {
      emit();
      return;
    }
    const cancel = this.#deps.timers.after(this.#stopDelay, () => {
      this.#held.delete(uuid);
      emit();
    });
    this.#held.set(uuid, cancel);
  }

  /** Drops news of a stop that is held back: something newer is known. */
  #release(uuid: string): void {
    this.#held.get(uuid)?.();
    this.#held.delete(uuid);
  }
}

/** Undefined state: not defined. */
function transitionOf(before: DomainState | undefined, now: DomainState | undefined): LifecycleTransition | undefined {
  switch (now) {
    case "running":
      return before === "paused" || before === "suspended" ? "resumed" : "started";
    case "paused":
      return "paused";
    case "suspended":
      return "suspended";
    default:
      // A guest that was off, and is removed or crashes now, did not stop by that.
      return before === undefined || before === "shutoff" || before === "crashed" ? undefined : "stopped";
  }
}
