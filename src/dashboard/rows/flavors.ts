import type { Store } from "../../control-plane/store/store.js";
import type { FlavorRow } from "../wire/stream.js";

/** The flavors, by the ids that the Compute API gives them; servers and moves name them by the ids of their rows. */
export class Flavors {
  readonly #store: Pick<Store, "flavors">;
  readonly #rows = new Map<string, FlavorRow>();
  readonly #names = new Map<number, string>();

  constructor(store: Pick<Store, "flavors">) {
    this.#store = store;
  }

  all(): ReadonlyMap<string, FlavorRow> {
    this.note();
    return this.#rows;
  }

  read(key: string): FlavorRow | undefined {
    return this.#rows.get(key);
  }

  nameOf(id: number | null): string | null {
    if (id !== null && !this.#names.has(id)) {
      this.note();
    }
    return id === null ? null : (this.#names.get(id) ?? null);
  }

  /** Reads them again. @returns those that may be otherwise now */
  note(): readonly string[] {
    const before = [...this.#rows.keys()];
    this.#rows.clear();
    for (const { id, flavorid, name, vcpus, memoryMb, rootGb } of this.#store.flavors.list()) {
      this.#names.set(id, name);
      this.#rows.set(flavorid, { name, vcpus, memoryMb, diskGb: rootGb });
    }
    return [...new Set([...before, ...this.#rows.keys()])];
  }

  clear(): void {
    this.#rows.clear();
    this.#names.clear();
  }
}
