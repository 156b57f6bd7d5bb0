import type { PlacementRecords } from "../../control-plane/placement/service.js";
import type { Store } from "../../control-plane/store/store.js";
import { FINAL_MIGRATION_STATUSES } from "../../records/index.js";
import type { ConsumerRow, ConsumerType } from "../wire/placement-rows.js";

export interface ConsumerOwner {
  readonly type: ConsumerType;
  /** The server that it is, or whose move it is; null: not known. */
  readonly server: string | null;
}

/** Consumers of the embedded Placement, and whose they are. */
export class Consumers {
  readonly #store: Pick<Store, "instances" | "migrations">;
  readonly #placement: PlacementRecords;
  /** The owners of consumers that were looked at, until {@link forget}. */
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

  /** The server or migration of this uuid may be another kind of owner now: true if it is. */
  forget(uuid: string): boolean {
    const before = this.#owners.get(uuid);
    this.#owners.delete(uuid);
    return before !== undefined && this.owner(uuid).type !== before.type;
  }

  clear(): void {
    this.#owners.clear();
  }

  /** Undefined: it holds nothing. */
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

  /** The providers of which it holds something. */
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
