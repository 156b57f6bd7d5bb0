import type { ReshapeAllocations } from "../virt/driver.js";
import type { ProviderTree } from "../virt/provider-tree.js";
import type { ClientContext } from "./client-context.js";
import { consumerToWire } from "./consumer-allocations.js";
import { isPlacementError, PlacementError, ReshapeFailed } from "./errors.js";
import { ensureClasses, loadProvider, setAggregates, setInventory, setTraits } from "./provider-associations.js";
import { deleteProvider, inventoriesToWire, readInventory } from "./provider-requests.js";
import type { ConsumerAllocations, RequestContext } from "./types.js";

/** Writes an edited tree: only the differences from the cache (spec 5.2). */
export class TreeFlush {
  readonly #client: ClientContext;
  readonly #tree: ProviderTree;
  readonly #context: RequestContext;
  readonly #failures: { readonly uuid: string; readonly error: PlacementError }[] = [];

  constructor(client: ClientContext, tree: ProviderTree, context: RequestContext) {
    this.#client = client;
    this.#tree = tree;
    this.#context = context;
  }

  async run(reshape: ReadonlyMap<string, ConsumerAllocations> | undefined): Promise<void> {
    const removed = this.#removed();
    await this.#createMissing();
    if (reshape) {
      await this.#moveAcross(removed, reshape);
    }
    for (const uuid of removed) {
      await this.#guarded(uuid, async () => {
        await deleteProvider(this.#client.http, uuid, this.#context);
        this.#client.cache.invalidateProvider(uuid);
      });
    }
    await this.#writeChanged();
    this.#copyGenerations();
    this.#raise();
  }

  /**
   * Returns the cached members of the tree's roots that were removed from it, children first. A root itself is never
   * removed.
   */
  #removed(): string[] {
    const { tree: cached } = this.#client.cache;
    return this.#tree.roots
      .filter((root) => cached.exists(root))
      .flatMap((root) => cached.providerUuidsBottomUp(root))
      .filter((uuid) => !this.#tree.exists(uuid));
  }

  async #createMissing(): Promise<void> {
    for (const uuid of this.#tree.providerUuids()) {
      if (!this.#client.cache.tree.exists(uuid)) {
        const provider = this.#tree.data(uuid);
        await this.#guarded(uuid, () => loadProvider(this.#client, provider, undefined, this.#context));
      }
    }
  }

  async #moveAcross(removed: readonly string[], consumers: ReadonlyMap<string, ConsumerAllocations>): Promise<void> {
    const [first] = this.#failures;
    if (first) {
      throw new ReshapeFailed("a provider of the new tree could not be created", { cause: first.error });
    }
    try {
      await this.#reshape(removed, consumers);
    } catch (error) {
      if (isPlacementError(error, "PlacementReshapeConflict")) {
        this.#client.cache.clear();
      }
      throw error;
    }
  }

  async #writeChanged(): Promise<void> {
    for (const uuid of this.#tree.providerUuidsBottomUp()) {
      if (!this.#client.cache.tree.exists(uuid)) {
        continue;
      }
      const { inventory, aggregates, traits } = this.#tree.data(uuid);
      await this.#guarded(uuid, async () => {
        await setInventory(this.#client, uuid, inventory, this.#context);
        await setAggregates(this.#client, uuid, aggregates, this.#context);
        await setTraits(this.#client, uuid, traits, this.#context);
      });
    }
  }

  /** Also copies the driver's discrete resources into the cache; they are never written to Placement. */
  #copyGenerations(): void {
    const { tree: cached } = this.#client.cache;
    for (const uuid of this.#tree.providerUuids()) {
      const written = cached.find(uuid);
      if (written === undefined) {
        continue;
      }
      const { generation, resources } = this.#tree.data(uuid);
      if (written.generation !== null && written.generation !== generation) {
        this.#tree.updateGeneration(uuid, written.generation);
      }
      if (written.resources !== resources) {
        cached.updateResources(uuid, resources);
      }
    }
  }

  /**
   * Runs a step for one provider. Its failure does not prevent writes of the others; a conflict ends the flush (table in
   * 5.1).
   */
  async #guarded(uuid: string, step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (isPlacementError(error, "ResourceProviderUpdateConflict")) {
        this.#invalidate(uuid);
        throw error;
      }
      if (isPlacementError(error, "InventoryInUse")) {
        throw new PlacementError("PlacementPciException", error.message, undefined, { cause: error });
      }
      if (!(error instanceof PlacementError) || isPlacementError(error, "PlacementAPIConnectFailure")) {
        throw error;
      }
      this.#client.logger.error(`resource provider ${uuid} could not be written; continuing with the other providers`, {
        provider: uuid,
        err: error,
      });
      this.#failures.push({ uuid, error });
    }
  }

  /** Invalidates the provider's tree and the node's tree: only a refresh of the node finds its sharing providers. */
  #invalidate(uuid: string): void {
    this.#client.cache.invalidateTree(uuid);
    const [node] = this.#tree.roots;
    if (node !== undefined) {
      this.#client.cache.invalidateTree(node);
    }
  }

  #raise(): void {
    const [first] = this.#failures;
    if (!first) {
      return;
    }
    for (const { uuid } of this.#failures) {
      this.#invalidate(uuid);
    }
    throw new PlacementError(
      "ResourceProviderSyncFailed",
      `${this.#failures.length} resource providers could not be written; the first is ${first.uuid}: ${first.error.message}`,
      undefined,
      { cause: first.error },
    );
  }

  /**
   * Moves inventories and allocations between providers in one request (spec 5.7).
   * @throws PlacementReshapeConflict (redrive), ReshapeFailed
   */
  async #reshape(removed: readonly string[], consumers: ReadonlyMap<string, ConsumerAllocations>): Promise<void> {
    const { http, cache } = this.#client;
    const uuids = this.#tree.providerUuids();
    const classes = new Set(uuids.flatMap((uuid) => Object.keys(this.#tree.data(uuid).inventory)));
    await ensureClasses(this.#client, [...classes], this.#context);
    const inventoriesOf = (uuid: string) => this.#tree.find(uuid)?.inventory ?? {};
    const inventories = [...uuids, ...removed].map((uuid) => [
      uuid,
      {
        resource_provider_generation: cache.tree.data(uuid).generation,
        inventories: inventoriesToWire(inventoriesOf(uuid)),
      },
    ]);
    const response = await http.post("/reshaper", {
      ...this.#context,
      version: "1.30",
      body: {
        inventories: Object.fromEntries(inventories),
        allocations: Object.fromEntries([...consumers].map(([consumer, held]) => [consumer, toWire(held)])),
      },
    });
    if (response.isConcurrentUpdate) {
      const text = "a provider or a consumer changed during the reshape; retrying";
      throw new PlacementError("PlacementReshapeConflict", text, response);
    }
    if (!response.ok) {
      throw new ReshapeFailed(
        `inventory and allocations of ${this.#tree.roots.join(", ")} could not be moved between providers. ` +
          `Placement responded with ${response.describe()}`,
      );
    }
    for (const uuid of [...uuids, ...removed]) {
      const { value, generation } = await readInventory(http, uuid, this.#context);
      cache.tree.updateInventory(uuid, value, generation);
      cache.allocations.forgetProvider(uuid);
    }
  }
}

/** Converts allocations to the form that a driver edits in a reshape: amounts by consumer and provider. */
export function reshapeAllocations(consumers: ReadonlyMap<string, ConsumerAllocations>): ReshapeAllocations {
  return new Map(
    [...consumers].map(([consumer, { allocations }]) => [
      consumer,
      new Map(Object.entries(allocations).map(([provider, { resources }]) => [provider, { ...resources }])),
    ]),
  );
}

/** Returns the consumers as read, with the amounts edited by the driver. */
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

function toWire({ allocations, ...consumer }: ConsumerAllocations) {
  const withoutGenerations = Object.entries(allocations).map(([provider, { resources }]) => [provider, { resources }]);
  return consumerToWire({ ...consumer, allocations: Object.fromEntries(withoutGenerations) });
}
