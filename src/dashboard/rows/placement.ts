import type { Inventory, Provider } from "../../control-plane/placement/model.js";
import type { PlacementRecords } from "../../control-plane/placement/service.js";
import type { Store } from "../../control-plane/store/store.js";
import { FINAL_MIGRATION_STATUSES } from "../../records/index.js";
import type { ConsumerRow, ConsumerType, InventoryRow, ProviderRow } from "../wire/rows.js";

interface ConsumerOwner {
  readonly type: ConsumerType;
  /** The consumer itself, or the server that its migration moves; null if unknown. */
  readonly server: string | null;
}

/** Consumers of the embedded Placement, and their owners. */
export class Consumers {
  readonly #store: Pick<Store, "instances" | "migrations">;
  readonly #placement: PlacementRecords;
  /** Owners of consumers that were read, until {@link forget}. */
  readonly #owners = new Map<string, ConsumerOwner>();

  constructor(store: Pick<Store, "instances" | "migrations">, placement: PlacementRecords) {
    this.#store = store;
    this.#placement = placement;
  }

  owner(uuid: string): ConsumerOwner {
    const known = this.#owners.get(uuid) ?? this.#find(uuid);
    this.#owners.set(uuid, known);
    return known;
  }

  /** Drops the cached owner of a server's or migration's uuid. Returns true if the type of the owner has changed. */
  forget(uuid: string): boolean {
    const before = this.#owners.get(uuid);
    this.#owners.delete(uuid);
    return before !== undefined && this.owner(uuid).type !== before.type;
  }

  clear(): void {
    this.#owners.clear();
  }

  /** Returns undefined if the consumer has no allocations. */
  read(uuid: string): ConsumerRow | undefined {
    const consumer = this.#placement.consumers.get(uuid);
    if (consumer === undefined || consumer.allocations.length === 0) {
      this.#owners.delete(uuid);
      return undefined;
    }
    const held: Record<string, Record<string, number>> = {};
    for (const { inventory, used } of consumer.allocations) {
      const amounts = held[inventory.provider.uuid] ?? {};
      amounts[inventory.resourceClass.name] = used;
      held[inventory.provider.uuid] = amounts;
    }
    return {
      uuid,
      ...this.owner(uuid),
      placementType: consumer.type?.name ?? null,
      generation: consumer.generation,
      projectId: consumer.project.externalId,
      userId: consumer.user.externalId,
      held,
    };
  }

  providersOf(uuid: string): readonly string[] {
    const allocations = this.#placement.consumers.get(uuid)?.allocations ?? [];
    return [...new Set(allocations.map(({ inventory }) => inventory.provider.uuid))];
  }

  #find(uuid: string): ConsumerOwner {
    if (this.#store.instances.get(uuid) !== null) {
      return { type: "server", server: uuid };
    }
    const migration = this.#store.migrations.getByUuid(uuid);
    const isUnderWay =
      migration !== null && migration.deleted === 0 && !FINAL_MIGRATION_STATUSES.includes(migration.status);
    return { type: isUnderWay ? "migration" : "stale", server: migration?.instanceUuid ?? null };
  }
}

/**
 * Resource providers of the embedded Placement. Each set of traits is sent once, since most hosts have the same set.
 */
export class Providers {
  readonly #placement: PlacementRecords;
  readonly #consumers: Consumers;
  readonly #hostOf: (uuid: string) => string | null;
  readonly #onTraits: (key: string) => void;
  /** By key: `t1`, `t2` … */
  readonly #traits = new Map<string, readonly string[]>();
  /** By the joined names. */
  readonly #keys = new Map<string, string>();

  /**
   * @param hostOf returns the host of the compute node with this uuid
   * @param onTraits called with the key of each new set
   */
  constructor(
    placement: PlacementRecords,
    consumers: Consumers,
    {
      hostOf,
      onTraits,
    }: { readonly hostOf: (uuid: string) => string | null; readonly onTraits: (key: string) => void },
  ) {
    this.#placement = placement;
    this.#consumers = consumers;
    this.#hostOf = hostOf;
    this.#onTraits = onTraits;
  }

  read(uuid: string): ProviderRow | undefined {
    const provider = this.#placement.providers.get(uuid);
    if (provider === undefined) {
      return undefined;
    }
    return {
      uuid,
      name: provider.name,
      generation: provider.generation,
      parent: provider.parent?.uuid ?? null,
      root: provider.root.uuid,
      host: this.#hostOf(provider.root.uuid),
      inventory: this.#inventory(provider),
      traits: this.#keyOf(provider),
      aggregates: [...provider.aggregates].map((aggregate) => aggregate.uuid).toSorted(),
    };
  }

  traits(key: string): readonly string[] | undefined {
    return this.#traits.get(key);
  }

  /** Returns the sets of traits that have been sent, by key. */
  get allTraits(): ReadonlyMap<string, readonly string[]> {
    return this.#traits;
  }

  clear(): void {
    this.#traits.clear();
    this.#keys.clear();
  }

  #inventory(provider: Provider): Readonly<Record<string, InventoryRow>> {
    const used = new Map<Inventory, Record<ConsumerType, number>>();
    for (const inventory of provider.inventories.values()) {
      used.set(inventory, { server: 0, migration: 0, stale: 0 });
    }
    for (const consumer of provider.consumers) {
      const { type } = this.#consumers.owner(consumer.uuid);
      for (const allocation of consumer.allocations) {
        const sums = used.get(allocation.inventory);
        if (sums !== undefined) {
          sums[type] += allocation.used;
        }
      }
    }
    return Object.fromEntries(
      [...used].map(([{ resourceClass, amounts }, sums]) => [
        resourceClass.name,
        {
          total: amounts.total,
          reserved: amounts.reserved,
          ratio: amounts.allocation_ratio,
          min: amounts.min_unit,
          max: amounts.max_unit,
          step: amounts.step_size,
          used: sums,
        },
      ]),
    );
  }

  #keyOf(provider: Provider): string {
    const names = [...provider.traits].map(({ name }) => name).toSorted();
    const joined = names.join(" ");
    const known = this.#keys.get(joined);
    if (known !== undefined) {
      return known;
    }
    const key = `t${this.#keys.size + 1}`;
    this.#keys.set(joined, key);
    this.#traits.set(key, names);
    this.#onTraits(key);
    return key;
  }
}
