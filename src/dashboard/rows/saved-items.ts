import type { Rows } from "../wire/messages.js";

/** Snapshots and scenarios by name, and the edits in the plan of the last audit. */
export interface Shelved {
  readonly edit: ReadonlyMap<string, Rows["edit"]>;
  readonly snapshot: ReadonlyMap<string, Rows["snapshot"]>;
  readonly scenario: ReadonlyMap<string, Rows["scenario"]>;
}

export const SAVED_ITEM_KINDS = ["edit", "snapshot", "scenario"] as const;

export type ReadSavedItems = () => Promise<Shelved>;

const NOTHING: Shelved = { edit: new Map(), snapshot: new Map(), scenario: new Map() };

/** The edits, snapshots and scenarios as last read. */
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

  /** Reads the items again. If that fails, the last known ones remain. */
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
