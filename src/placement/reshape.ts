import type { ReshapeAllocations } from "../virt/driver.js";
import type { InventoryRecord, ProviderTree } from "../virt/provider-tree.js";
import { PlacementReshapeConflict, ReshapeFailed } from "./errors.js";
import type { ProviderWriter } from "./flush-provider.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { inventoryToWire, readInventory } from "./provider-requests.js";
import type { ConsumerAllocations, RequestContext, WireInventory } from "./types.js";

/** Moves inventories and allocations between providers in one step (spec 5.7). */
export class Reshaper {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #writer: ProviderWriter;

  constructor(http: PlacementHttp, cache: ProviderCache, writer: ProviderWriter) {
    this.#http = http;
    this.#cache = cache;
    this.#writer = writer;
  }

  /** @throws PlacementReshapeConflict (redrive), ReshapeFailed */
  async reshape(
    tree: ProviderTree,
    removed: readonly string[],
    consumers: ReadonlyMap<string, ConsumerAllocations>,
    context: RequestContext,
  ): Promise<void> {
    const uuids = tree.providerUuids();
    await this.#writer.ensureClasses(
      [...new Set(uuids.flatMap((uuid) => Object.keys(tree.data(uuid).inventory)))],
      context,
    );
    const inventories = Object.fromEntries([
      ...uuids.map((uuid) => [uuid, this.#inventories(uuid, tree.data(uuid).inventory)] as const),
      ...removed.map((uuid) => [uuid, this.#inventories(uuid, {})] as const),
    ]);
    const allocations = Object.fromEntries([...consumers].map(([consumer, held]) => [consumer, toWire(held)]));
    const answer = await this.#http.post("/reshaper", {
      ...context,
      version: "1.30",
      body: { inventories, allocations },
    });
    if (answer.isConcurrentUpdate) {
      throw new PlacementReshapeConflict(
        "a provider or a consumer changed during the reshape; it is tried again",
        answer,
      );
    }
    if (!answer.ok) {
      throw new ReshapeFailed(
        `inventory and allocations of ${tree.roots.join(", ")} could not be moved between providers. ` +
          `Placement answered ${answer.describe()}`,
      );
    }
    for (const uuid of [...uuids, ...removed]) {
      const { value, generation } = await readInventory(this.#http, uuid, context);
      this.#cache.tree.updateInventory(uuid, value, generation);
      this.#cache.allocations.forgetProvider(uuid);
    }
  }

  #inventories(
    uuid: string,
    inventory: Readonly<Record<string, InventoryRecord>>,
  ): { resource_provider_generation: number | null; inventories: Record<string, WireInventory> } {
    return {
      resource_provider_generation: this.#cache.tree.data(uuid).generation,
      inventories: Object.fromEntries(
        Object.entries(inventory).map(([name, record]) => [name, inventoryToWire(record)]),
      ),
    };
  }
}

/** What a driver edits in a reshape: amounts by consumer and provider. */
export function reshapeAllocations(consumers: ReadonlyMap<string, ConsumerAllocations>): ReshapeAllocations {
  return new Map(
    [...consumers].map(([consumer, { allocations }]) => [
      consumer,
      new Map(Object.entries(allocations).map(([provider, { resources }]) => [provider, { ...resources }])),
    ]),
  );
}

/** The consumers as read, with the amounts that the driver made of them. */
export function editedAllocations(
  consumers: ReadonlyMap<string, ConsumerAllocations>,
  edited: ReshapeAllocations,
): ReadonlyMap<string, ConsumerAllocations> {
  return new Map(
    [...consumers].map(([consumer, held]) => [
      consumer,
      {
        ...held,
        allocations: Object.fromEntries(
          [...(edited.get(consumer) ?? [])].map(([provider, resources]) => [provider, { resources }]),
        ),
      },
    ]),
  );
}

function toWire({ allocations, projectId, userId, consumerGeneration }: ConsumerAllocations) {
  return {
    allocations: Object.fromEntries(
      Object.entries(allocations).map(([provider, { resources }]) => [provider, { resources }]),
    ),
    project_id: projectId,
    user_id: userId,
    consumer_generation: consumerGeneration,
  };
}
