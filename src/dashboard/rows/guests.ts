import type { CancelTimer, Clock, Timers } from "../../runtime/time.js";
import type { GuestRow, GuestsRow } from "../wire/rows.js";

/** Milliseconds for which requests to read a host are collected. */
const GATHERED = 100;
/** Maximum number of hosts that are read in parallel. */
const AT_A_TIME = 8;

/** Data of hosts that can be read without their agents. */
export interface HostFolders {
  read(host: string): Promise<HostFolder>;
  /**
   * Calls the listener when the host's data changes, until the returned function is called. @throws {Error} it cannot
   * be watched
   */
  watch(host: string, listener: () => void): () => void;
}

interface HostFolder {
  /** Guests of a hypervisor in a folder; undefined for other hypervisors. */
  readonly guests: readonly GuestRow[] | undefined;
  /** Faults that are set. */
  readonly faults: readonly string[];
}

interface GuestsDeps {
  readonly folders: HostFolders;
  /** Requests the guests from the host's agent; undefined if none is serving. */
  readonly ask: (host: string) => Promise<readonly GuestRow[]> | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly timers: Pick<Timers, "after">;
  readonly onRead: (host: string) => void;
  /** Called when the faults of a host have changed. */
  readonly onFaults: (host: string) => void;
}

/** The guests of the hypervisors as last read. They are read again when an event indicates a change. */
export class Guests {
  readonly #deps: GuestsDeps;
  readonly #rows = new Map<string, GuestsRow>();
  readonly #faults = new Map<string, readonly string[]>();
  readonly #watches = new Map<string, () => void>();
  readonly #due = new Set<string>();
  readonly #busy = new Set<string>();
  #cancel: CancelTimer | undefined;
  /** Incremented by each clear, so that reads of an earlier lifetime are dropped. */
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

  /** Schedules a read of the host. */
  look(host: string): void {
    this.#due.add(host);
    this.#cancel ??= this.#deps.timers.after(GATHERED, () => {
      this.#cancel = undefined;
      this.#next();
    });
  }

  /** Removes a host that no longer exists. */
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
    // If a host does not respond, its last known guests remain, with their age.
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
      // The system may have no watches left. Changes of the records of the host's servers still trigger reads.
    }
  }
}
