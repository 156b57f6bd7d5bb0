import type { Rows } from "../wire/messages.js";

/** Snapshots and scenarios by name, and the findings and planned edits of the last audit. */
export interface Shelved {
  readonly finding: ReadonlyMap<string, Rows["finding"]>;
  readonly edit: ReadonlyMap<string, Rows["edit"]>;
  readonly snapshot: ReadonlyMap<string, Rows["snapshot"]>;
  readonly scenario: ReadonlyMap<string, Rows["scenario"]>;
}

export const SAVED_ITEM_KINDS = ["finding", "edit", "snapshot", "scenario"] as const;

export type ReadSavedItems = () => Promise<Shelved>;

const NOTHING: Shelved = { finding: new Map(), edit: new Map(), snapshot: new Map(), scenario: new Map() };

/** The edits, snapshots and scenarios as last read. */
export class SavedItems {
  readonly #read: ReadSavedItems;
  readonly #onChange: (kind: keyof Shelved, key: string) => void;
  #known = NOTHING;
  /** Findings of the last audit that may be obsolete, since changes were made or not followed. */
  readonly #obsolete = new WeakSet<Rows["finding"]>();

  constructor(read: ReadSavedItems, onChange: (kind: keyof Shelved, key: string) => void) {
    this.#read = read;
    this.#onChange = onChange;
  }

  get all(): Shelved {
    return this.#known;
  }

  clear(): void {
    for (const row of this.#known.finding.values()) {
      this.#obsolete.add(row);
    }
    this.#known = NOTHING;
  }

  /** Drops what the last audit found about a consumer whose allocations have changed since then. */
  dropFindings(consumer: string): void {
    const isAbout = ({ consumer: of, server }: Rows["finding"]) => of === consumer || server === consumer;
    const dropped = [...this.#known.finding].filter(([, row]) => isAbout(row));
    for (const [, row] of dropped) {
      this.#obsolete.add(row);
    }
    if (dropped.length > 0) {
      this.#known = this.#withoutObsolete(this.#known);
      for (const [key] of dropped) {
        this.#onChange("finding", key);
      }
    }
  }

  /** Reads the items again. If that fails, the last known ones remain. */
  async note(): Promise<void> {
    const before = this.#known;
    const now = this.#withoutObsolete(await this.#read().catch(() => before));
    this.#known = now;
    for (const kind of SAVED_ITEM_KINDS) {
      for (const key of new Set([...before[kind].keys(), ...now[kind].keys()])) {
        this.#onChange(kind, key);
      }
    }
  }

  #withoutObsolete(items: Shelved): Shelved {
    return { ...items, finding: new Map([...items.finding].filter(([, row]) => !this.#obsolete.has(row))) };
  }
}
