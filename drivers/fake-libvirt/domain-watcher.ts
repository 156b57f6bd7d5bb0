import type {
  CancelTimer,
  Clock,
  Files,
  LifecycleEvent,
  LifecycleTransition,
  Logger,
  Timers,
} from "../../src/virt/index.js";
import { type DomainState, UUID } from "./domain.js";
import type { DomainStore } from "./domain-store.js";
import { type HypervisorFolder, Stamp } from "./hypervisor.js";

/** Milliseconds between two polls: a poll may read the states of all guests. */
const PAUSE = 100;

export interface DomainWatcherDeps {
  readonly files: Files;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  emitEvent(event: LifecycleEvent): void;
}

/**
 * Emits events for guests that users started, stopped, paused, resumed or removed behind the driver's back (spec 8.5).
 * The driver's own changes run within {@link own} and emit none.
 */
export class DomainWatcher {
  readonly #folder: HypervisorFolder;
  readonly #store: DomainStore;
  readonly #deps: DomainWatcherDeps;
  readonly #stopDelay: number;
  readonly #known = new Map<string, DomainState>();
  /** Timers of delayed `stopped` events, by guest. */
  readonly #held = new Map<string, CancelTimer>();
  /** Number of own operations in progress, by guest. */
  readonly #busy = new Map<string, number>();
  /** Number of the poll during which the last own operation on the guest ended. */
  readonly #touched = new Map<string, number>();
  #pollCount = 0;
  #looking: Promise<void> | undefined;
  /** Guests that the next poll reads; undefined if no poll is requested. */
  #requestedUuids: ReadonlySet<string> | "all" | undefined;
  #unwatch: readonly (() => void)[] = [];
  #stopped = true;
  /** Detect whether a folder has changed since the last poll. */
  readonly #stateStamp = new Stamp();
  readonly #domainStamp = new Stamp();

  /** @param stopDelay milliseconds by which `stopped` events are delayed */
  constructor(folder: HypervisorFolder, store: DomainStore, stopDelay: number, deps: DomainWatcherDeps) {
    this.#folder = folder;
    this.#store = store;
    this.#stopDelay = stopDelay;
    this.#deps = deps;
  }

  /** Records the current states without emitting events. */
  async start(): Promise<void> {
    // Taken before the states are read, so that a change in between makes the stamp differ at the next glance.
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

  /** Polls if the folders changed without a notification, as they may on a network file system. Each pass calls it. */
  async glance(): Promise<void> {
    if (await this.#isStampedAnew()) {
      this.look();
    }
  }

  /** Returns whether the folders may have changed since the last call. */
  async #isStampedAnew(): Promise<boolean> {
    const { states, domains } = this.#folder;
    const unchanged = await Promise.all([
      this.#stateStamp.isUnchanged(states, this.#deps),
      this.#domainStamp.isUnchanged(domains, this.#deps),
    ]);
    return unchanged.includes(false);
  }

  /** Schedules a poll. @param names of the changed files; all guests are polled if omitted */
  look(names?: readonly string[]): void {
    if (this.#stopped) {
      return;
    }
    const uuids = names?.map((name) => name.replace(/\.xml$/, ""));
    // A name that is not a guest's may be that of the folder itself, which was removed.
    const known = this.#requestedUuids !== "all" && uuids?.every((uuid) => UUID.test(uuid)) === true;
    this.#requestedUuids = known ? new Set([...(this.#requestedUuids ?? []), ...uuids]) : "all";
    this.#looking ??= this.#lookUntilQuiet();
  }

  /** Runs an operation on a guest whose state changes emit no events. */
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
        this.#deps.logger.warn(
          "the hypervisor's folder could not be polled; changes of guests are reported at the next poll",
          { err: error },
        );
      }
      await this.#deps.timers.sleep(PAUSE);
    }
    this.#touched.clear();
    this.#looking = undefined;
  }

  async #lookOnce(requestedUuids: ReadonlySet<string> | "all"): Promise<void> {
    this.#pollCount += 1;
    const look = this.#pollCount;
    // States that own operations have set since this poll began are newer than those that it reads.
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

  /**
   * Reads the states of guests without an own operation; for the others, the end of the operation records the state.
   */
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

  /** Cancels a delayed `stopped` event, because a newer state is known. */
  #release(uuid: string): void {
    this.#held.get(uuid)?.();
    this.#held.delete(uuid);
  }
}

/** An undefined state means that the domain is not defined. */
function transitionOf(before: DomainState | undefined, now: DomainState | undefined): LifecycleTransition | undefined {
  switch (now) {
    case "running":
      return before === "paused" || before === "suspended" ? "resumed" : "started";
    case "paused":
      return "paused";
    case "suspended":
      return "suspended";
    default:
      // A guest that was off and is now removed or crashed did not stop just now.
      return before === undefined || before === "shutoff" || before === "crashed" ? undefined : "stopped";
  }
}
