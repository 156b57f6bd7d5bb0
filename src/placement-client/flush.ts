import type { ReshapeAllocations } from "../virt/driver.js";
import type { InventoryRecord, ProviderTree } from "../virt/provider-tree.js";
import type { ClientContext } from "./client-context.js";
import { isPlacementError, PlacementError, ReshapeFailed } from "./errors.js";
import { ensureClasses, setAggregates, setInventory, setTraits } from "./provider-associations.js";
import { deleteProvider, inventoryToWire, readInventory } from "./provider-requests.js";
import { loadProvider } from "./resource-providers.js";
import type { ConsumerAllocations, RequestContext, WireInventory } from "./types.js";

/** Writes an edited tree: only the differences from the cache (spec 5.2). */
export async function flushTree(
  client: ClientContext,
  tree: ProviderTree,
  reshape: ReadonlyMap<string, ConsumerAllocations> | undefined,
  context: RequestContext,
): Promise<void> {
  const failures: Failure[] = [];
  const removed = removedFrom(client, tree);
  await createMissing(client, tree, failures, context);
  if (reshape) {
    await moveAcross(client, tree, removed, reshape, failures, context);
  }
  await deleteRemoved(client, tree, removed, failures, context);
  await writeChanged(client, tree, failures, context);
  copyGenerations(client, tree);
  raise(client, tree, failures);
}

/**
 * Returns the cached members of the tree's roots that were removed from it, children first. A root itself is never
 * removed.
 */
function removedFrom(client: ClientContext, tree: ProviderTree): string[] {
  return tree.roots
    .filter((root) => client.cache.tree.exists(root))
    .flatMap((root) => client.cache.tree.providerUuidsBottomUp(root))
    .filter((uuid) => !tree.exists(uuid));
}

async function createMissing(
  client: ClientContext,
  tree: ProviderTree,
  failures: Failure[],
  context: RequestContext,
): Promise<void> {
  for (const uuid of tree.providerUuids()) {
    if (client.cache.tree.exists(uuid)) {
      continue;
    }
    await guarded(client, tree, uuid, failures, () => loadProvider(client, tree.data(uuid), undefined, context));
  }
}

async function moveAcross(
  client: ClientContext,
  tree: ProviderTree,
  removed: readonly string[],
  consumers: ReadonlyMap<string, ConsumerAllocations>,
  failures: readonly Failure[],
  context: RequestContext,
): Promise<void> {
  const [first] = failures;
  if (first) {
    throw new ReshapeFailed("a provider of the new tree could not be created", { cause: first.error });
  }
  try {
    await reshape(client, tree, removed, consumers, context);
  } catch (error) {
    if (isPlacementError(error, "PlacementReshapeConflict")) {
      client.cache.clear();
    }
    throw error;
  }
}

async function deleteRemoved(
  client: ClientContext,
  tree: ProviderTree,
  removed: readonly string[],
  failures: Failure[],
  context: RequestContext,
): Promise<void> {
  for (const uuid of removed) {
    await guarded(client, tree, uuid, failures, async () => {
      await deleteProvider(client.http, uuid, context);
      client.cache.invalidateProvider(uuid);
    });
  }
}

async function writeChanged(
  client: ClientContext,
  tree: ProviderTree,
  failures: Failure[],
  context: RequestContext,
): Promise<void> {
  for (const uuid of tree.providerUuidsBottomUp()) {
    if (!client.cache.tree.exists(uuid)) {
      continue;
    }
    const { inventory, aggregates, traits } = tree.data(uuid);
    await guarded(client, tree, uuid, failures, async () => {
      await setInventory(client, uuid, inventory, context);
      await setAggregates(client, uuid, aggregates, context);
      await setTraits(client, uuid, traits, context);
    });
  }
}

/** Also copies the driver's discrete resources into the cache; they are never written to Placement. */
function copyGenerations(client: ClientContext, tree: ProviderTree): void {
  for (const uuid of tree.providerUuids()) {
    const written = client.cache.tree.find(uuid);
    if (written === undefined) {
      continue;
    }
    const { generation, resources } = tree.data(uuid);
    if (written.generation !== null && written.generation !== generation) {
      tree.updateGeneration(uuid, written.generation);
    }
    if (written.resources !== resources) {
      client.cache.tree.updateResources(uuid, resources);
    }
  }
}

/**
 * Runs a step for one provider. Its failure does not prevent writes of the others; a conflict ends the flush (table in
 * 5.1).
 */
async function guarded(
  client: ClientContext,
  tree: ProviderTree,
  uuid: string,
  failures: Failure[],
  step: () => Promise<void>,
): Promise<void> {
  try {
    await step();
  } catch (error) {
    if (isPlacementError(error, "ResourceProviderUpdateConflict")) {
      invalidate(client, tree, uuid);
      throw error;
    }
    if (isPlacementError(error, "InventoryInUse")) {
      throw new PlacementError("PlacementPciException", error.message, undefined, { cause: error });
    }
    if (!(error instanceof PlacementError) || isPlacementError(error, "PlacementAPIConnectFailure")) {
      throw error;
    }
    client.logger.error(`resource provider ${uuid} could not be written; continuing with the other providers`, {
      provider: uuid,
      err: error,
    });
    failures.push({ uuid, error });
  }
}

/** Invalidates the provider's tree and the node's tree: only a refresh of the node finds its sharing providers. */
function invalidate(client: ClientContext, tree: ProviderTree, uuid: string): void {
  client.cache.invalidateTree(uuid);
  const [node] = tree.roots;
  if (node !== undefined) {
    client.cache.invalidateTree(node);
  }
}

function raise(client: ClientContext, tree: ProviderTree, failures: readonly Failure[]): void {
  const [first] = failures;
  if (!first) {
    return;
  }
  for (const { uuid } of failures) {
    invalidate(client, tree, uuid);
  }
  throw new PlacementError(
    "ResourceProviderSyncFailed",
    `${failures.length} resource providers could not be written; the first is ${first.uuid}: ${first.error.message}`,
    undefined,
    { cause: first.error },
  );
}

interface Failure {
  readonly uuid: string;
  readonly error: PlacementError;
}

/**
 * Moves inventories and allocations between providers in one request (spec 5.7).
 * @throws PlacementReshapeConflict (redrive), ReshapeFailed
 */
async function reshape(
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
    throw new PlacementError(
      "PlacementReshapeConflict",
      "a provider or a consumer changed during the reshape; retrying",
      response,
    );
  }
  if (!response.ok) {
    throw new ReshapeFailed(
      `inventory and allocations of ${tree.roots.join(", ")} could not be moved between providers. ` +
        `Placement responded with ${response.describe()}`,
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
