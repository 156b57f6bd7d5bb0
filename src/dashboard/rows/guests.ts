import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { GuestRow, GuestsRow } from "../wire/rows.js";

/** Milliseconds for which reasons to look at a host are gathered. */
const GATHERED = 100;
/** Hosts that are looked at at a time. */
const AT_A_TIME = 8;

/** What can be seen of hosts without their agents. */
export interface HostFolders {
  read(host: string): Promise<HostFolder>;
  /** Calls the listener when something of it changes; returns what ends that. @throws {Error} it cannot be watched */
  watch(host: string, listener: () => void): () => void;
}

interface HostFolder {
  /** Guests of a hypervisor that is a folder; undefined: the host's is none. */
  readonly guests: readonly GuestRow[] | undefined;
  /** Fault knobs that are set. */
  readonly faults: readonly string[];
}

interface GuestsDeps {
  readonly folders: HostFolders;
  /** Asks the host's agent; undefined: none serves. */
  readonly ask: (host: string) => Promise<readonly GuestRow[]> | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Pick<Timers, "after">;
  /** Called when a host has been looked at. */
  readonly onRead: (host: string) => void;
  /** Called when other faults are set for a host. */
  readonly onFaults: (host: string) => void;
}

/** What the hypervisors have, as it was when they were looked at last; they are looked at when something says that it has changed. */
export class Guests {
  readonly #deps: GuestsDeps;
  readonly #rows = new Map<string, GuestsRow>();
  readonly #faults = new Map<string, readonly string[]>();
  readonly #watches = new Map<string, () => void>();
  readonly #due = new Set<string>();
  readonly #busy = new Set<string>();
  #cancel: CancelTimer | undefined;
  /** Counts lives, so that what a look of the one before brings is dropped. */
  #life = 0;

  constructor(deps: GuestsDeps) {
    this.#deps = deps;
  }

  read(host: string): GuestsRow | undefined {
    return this.#rows.get(host);
  }

  faults(host: string): readonly string[] {
    return this.#faults.get(host) ?? [];
  }

  get all(): ReadonlyMap<string, GuestsRow> {
    return this.#rows;
  }

  /** Has the host looked at soon. */
  look(host: string): void {
    this.#due.add(host);
    this.#cancel ??= this.#deps.timers.after(GATHERED, () => {
      this.#cancel = undefined;
      this.#next();
    });
  }

  /** The host is gone. */
  forget(host: string): void {
    this.#watches.get(host)?.();
    this.#watches.delete(host);
    this.#rows.delete(host);
    this.#faults.delete(host);
    this.#due.delete(host);
  }

  clear(): void {
    this.#life += 1;
    this.#cancel?.();
    this.#cancel = undefined;
    for (const unwatch of this.#watches.values()) {
      unwatch();
    }
    for (const known of [this.#watches, this.#rows, this.#faults, this.#due, this.#busy]) {
      known.clear();
    }
  }

  #next(): void {
    for (const host of this.#due) {
      if (this.#busy.size >= AT_A_TIME) {
        return;
      }
      if (!this.#busy.has(host)) {
        this.#due.delete(host);
        this.#busy.add(host);
        void this.#lookAt(host, this.#life);
      }
    }
  }

  async #lookAt(host: string, life: number): Promise<void> {
    // A host that says nothing keeps what was known of it, with its age.
    const found = await this.#found(host, life).catch(() => undefined);
    if (life !== this.#life) {
      return;
    }
    this.#busy.delete(host);
    if (found !== undefined) {
      this.#note(host, found);
      this.#deps.onRead(host);
    }
    this.#next();
  }

  async #found(host: string, life: number): Promise<Pick<GuestsRow, "from" | "guests"> | undefined> {
    const { folders, ask, onFaults } = this.#deps;
    const { guests, faults } = await folders.read(host);
    if (life !== this.#life) {
      return undefined;
    }
    if (String(this.#faults.get(host) ?? "") !== String(faults)) {
      this.#faults.set(host, faults);
      onFaults(host);
    }
    this.#watch(host);
    if (guests !== undefined) {
      return { from: "folder", guests };
    }
    const reported = await ask(host);
    return reported === undefined ? undefined : { from: "agent", guests: reported };
  }

  #note(host: string, { from, guests }: Pick<GuestsRow, "from" | "guests">): void {
    const before = this.#rows.get(host);
    const isSame = from === "folder" && JSON.stringify(before?.guests) === JSON.stringify(guests);
    if (before === undefined || !isSame) {
      this.#rows.set(host, { at: this.#deps.clock.now(), from, guests });
    }
  }

  #watch(host: string): void {
    if (this.#watches.has(host)) {
      return;
    }
    try {
      this.#watches.set(
        host,
        this.#deps.folders.watch(host, () => this.look(host)),
      );
    } catch {
      // The system may have no watches left: the records of its servers still tell when to look.
    }
  }
}
