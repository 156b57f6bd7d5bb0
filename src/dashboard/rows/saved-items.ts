import type { Rows } from "../wire/messages.js";

/** Snapshots and scenarios by their names, and what the plan of the last audit would do. */
export interface Shelved {
  readonly edit: ReadonlyMap<string, Rows["edit"]>;
  readonly snapshot: ReadonlyMap<string, Rows["snapshot"]>;
  readonly scenario: ReadonlyMap<string, Rows["scenario"]>;
}

export const SAVED_ITEM_KINDS = ["edit", "snapshot", "scenario"] as const;

export type ReadSavedItems = () => Promise<Shelved>;

const NOTHING: Shelved = { edit: new Map(), snapshot: new Map(), scenario: new Map() };

/** What can be applied, restored and run, as it was when it was read last. */
export class SavedItems {
  readonly #read: ReadSavedItems;
  readonly #onChange: (kind: keyof Shelved, key: string) => void;
  #known = NOTHING;

  constructor(read: ReadSavedItems, onChange: (kind: keyof Shelved, key: string) => void) {
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
    for (const kind of SAVED_ITEM_KINDS) {
      for (const key of new Set([...before[kind].keys(), ...now[kind].keys()])) {
        this.#onChange(kind, key);
      }
    }
  }
}
