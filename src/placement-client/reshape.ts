import type { ReshapeAllocations } from "../virt/driver.js";
import type { InventoryRecord, ProviderTree } from "../virt/provider-tree.js";
import type { ClientContext } from "./client-context.js";
import { PlacementReshapeConflict, ReshapeFailed } from "./errors.js";
import { ensureClasses } from "./flush-provider.js";
import { inventoryToWire, readInventory } from "./provider-requests.js";
import type { ConsumerAllocations, RequestContext, WireInventory } from "./types.js";

/** Moves inventories and allocations between providers in one step (spec 5.7). @throws PlacementReshapeConflict (redrive), ReshapeFailed */
export async function reshape(
  client: ClientContext,
  tree: ProviderTree,
  removed: readonly string[],
  consumers: ReadonlyMap<string, ConsumerAllocations>,
  context: RequestContext,
): Promise<void> {
  const uuids = tree.providerUuids();
  await ensureClasses(client, [...new Set(uuids.flatMap((uuid) => Object.keys(tree.data(uuid).inventory)))], context);
  const inventories = Object.fromEntries([
    ...uuids.map((uuid) => [uuid, inventoriesToWire(client, uuid, tree.data(uuid).inventory)] as const),
    ...removed.map((uuid) => [uuid, inventoriesToWire(client, uuid, {})] as const),
  ]);
  const allocations = Object.fromEntries([...consumers].map(([consumer, held]) => [consumer, toWire(held)]));
  const response = await client.http.post("/reshaper", {
    ...context,
    version: "1.30",
    body: { inventories, allocations },
  });
  if (response.isConcurrentUpdate) {
    throw new PlacementReshapeConflict(
      "a provider or a consumer changed during the reshape; it is tried again",
      response,
    );
  }
  if (!response.ok) {
    throw new ReshapeFailed(
      `inventory and allocations of ${tree.roots.join(", ")} could not be moved between providers. ` +
        `Placement answered ${response.describe()}`,
    );
  }
  for (const uuid of [...uuids, ...removed]) {
    const { value, generation } = await readInventory(client.http, uuid, context);
    client.cache.tree.updateInventory(uuid, value, generation);
    client.cache.allocations.forgetProvider(uuid);
  }
}

function inventoriesToWire(
  client: ClientContext,
  uuid: string,
  inventory: Readonly<Record<string, InventoryRecord>>,
): { resource_provider_generation: number | null; inventories: Record<string, WireInventory> } {
  return {
    resource_provider_generation: client.cache.tree.data(uuid).generation,
    inventories: Object.fromEntries(Object.entries(inventory).map(([name, record]) => [name, inventoryToWire(record)])),
  };
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
