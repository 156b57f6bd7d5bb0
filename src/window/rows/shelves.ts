import type { Rows } from "../wire.js";

/** Snapshots and scenarios by their names. */
export interface Shelved {
  readonly snapshot: ReadonlyMap<string, Rows["snapshot"]>;
  readonly scenario: ReadonlyMap<string, Rows["scenario"]>;
}

export type ReadShelves = () => Promise<Shelved>;

const NOTHING: Shelved = { snapshot: new Map(), scenario: new Map() };

/** What can be restored and run, as it was when it was read last. */
export class Shelves {
  readonly #read: ReadShelves;
  readonly #onChange: (kind: keyof Shelved, key: string) => void;
  #known = NOTHING;

  constructor(read: ReadShelves, onChange: (kind: keyof Shelved, key: string) => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  get all(): Shelved {
    return this.#known;
  }

  clear(): void {
    this.#known = NOTHING;
  }

  /** Reads it again. What cannot be read stays as it was known. */
  async note(): Promise<void> {
    const before = this.#known;
    const now = await this.#read().catch(() => before);
    this.#known = now;
    for (const kind of ["snapshot", "scenario"] as const) {
      for (const key of new Set([...before[kind].keys(), ...now[kind].keys()])) {
        this.#onChange(kind, key);
      }
    }
  }
}
