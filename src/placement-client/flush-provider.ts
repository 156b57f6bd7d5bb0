import type { InventoryRecord } from "../virt/provider-tree.js";
import type { ClientContext } from "./client-context.js";
import {
  InvalidResourceClass,
  InventoryInUse,
  ResourceProviderUpdateConflict,
  ResourceProviderUpdateFailed,
  TraitCreationFailed,
  TraitRetrievalFailed,
} from "./errors.js";
import { asArray, asString } from "./json.js";
import type { PlacementResponse } from "./placement-http.js";
import { generationIn, inventoryToWire, putAggregates } from "./provider-requests.js";
import type { ProviderTraits, RequestContext } from "./types.js";

export async function setInventory(
  client: ClientContext,
  uuid: string,
  inventory: Readonly<Record<string, InventoryRecord>>,
  context: RequestContext,
): Promise<void> {
  if (!client.cache.tree.hasInventoryChanged(uuid, inventory)) {
    return;
  }
  await ensureClasses(client, Object.keys(inventory), context);
  const { generation } = client.cache.tree.data(uuid);
  const inventories = Object.fromEntries(
    Object.entries(inventory).map(([name, record]) => [name, inventoryToWire(record)]),
  );
  const response = await client.http.put(`/resource_providers/${uuid}/inventories`, {
    ...context,
    version: "1.26",
    body: { resource_provider_generation: generation, inventories },
  });
  if (response.status === 409 && response.code === "placement.inventory.inuse") {
    throw new InventoryInUse(
      `provider ${uuid}: an inventory that the driver no longer reports still has allocations; move or delete what holds them`,
      response,
    );
  }
  const after = generationAfter(client, response, `the inventory of provider ${uuid}`);
  client.cache.tree.updateInventory(uuid, inventory, after);
  client.cache.allocations.advance(uuid, generation, after);
}

export async function setAggregates(
  client: ClientContext,
  uuid: string,
  aggregates: ReadonlySet<string>,
  context: RequestContext,
): Promise<void> {
  if (!client.cache.tree.haveAggregatesChanged(uuid, aggregates)) {
    return;
  }
  const { generation } = client.cache.tree.data(uuid);
  const response = await putAggregates(client.http, uuid, { aggregates, generation }, context);
  const after = generationAfter(client, response, `the aggregates of provider ${uuid}`);
  client.cache.tree.updateAggregates(uuid, aggregates, after);
  client.cache.allocations.advance(uuid, generation, after);
}

export async function setTraits(
  client: ClientContext,
  uuid: string,
  traits: ReadonlySet<string>,
  context: RequestContext,
): Promise<void> {
  if (!client.cache.tree.haveTraitsChanged(uuid, traits)) {
    return;
  }
  const { generation } = client.cache.tree.data(uuid);
  await putTraits(client, uuid, { traits: [...traits], generation: generation ?? 0 }, context);
}

/** Writes the traits whatever the cache says; the cache follows. */
export async function putTraits(
  client: ClientContext,
  uuid: string,
  { traits, generation }: ProviderTraits,
  context: RequestContext,
): Promise<void> {
  await ensureTraits(client, traits, context);
  const response = await client.http.put(`/resource_providers/${uuid}/traits`, {
    ...context,
    version: "1.6",
    body: { resource_provider_generation: generation, traits },
  });
  if (response.status === 400) {
    // One of them was deleted meanwhile; the next try asks for them again.
    for (const trait of traits) {
      client.known.traits.delete(trait);
    }
  }
  const after = generationAfter(client, response, `the traits of provider ${uuid}`);
  const known = client.cache.tree.find(uuid);
  if (known === undefined) {
    return;
  }
  // With another generation than the one we knew, there are changes of inventory or aggregates that we have not seen.
  client.cache.tree.updateTraits(uuid, traits, known.generation === generation ? after : known.generation);
  client.cache.allocations.advance(uuid, generation, after);
}

/** Custom classes are made; standard ones are Placement's own. @throws InvalidResourceClass */
export async function ensureClasses(
  client: ClientContext,
  names: readonly string[],
  context: RequestContext,
): Promise<void> {
  for (const name of names) {
    if (!name.startsWith("CUSTOM_") || client.known.classes.has(name)) {
      continue;
    }
    const response = await client.http.put(`/resource_classes/${encodeURIComponent(name)}`, {
      ...context,
      version: "1.7",
    });
    if (!response.ok) {
      throw new InvalidResourceClass(
        `resource class ${name} could not be made; names of custom classes are CUSTOM_ and upper case letters, digits, _`,
        response,
      );
    }
    client.known.classes.add(name);
  }
}

async function ensureTraits(client: ClientContext, traits: readonly string[], context: RequestContext): Promise<void> {
  const unknown = traits.filter((trait) => !client.known.traits.has(trait));
  if (unknown.length === 0) {
    return;
  }
  const query = unknown.map(encodeURIComponent).join(",");
  const response = await client.http.get(`/traits?name=in:${query}`, { ...context, version: "1.6" });
  if (!response.ok) {
    throw new TraitRetrievalFailed("asking which traits exist failed", response);
  }
  const existing = new Set(response.read(({ traits: known }) => asArray(known).map(asString)));
  for (const trait of unknown) {
    if (!existing.has(trait)) {
      await createTrait(client, trait, context);
    }
    client.known.traits.add(trait);
  }
}

async function createTrait(client: ClientContext, trait: string, context: RequestContext): Promise<void> {
  const response = await client.http.put(`/traits/${encodeURIComponent(trait)}`, { ...context, version: "1.6" });
  if (!response.ok) {
    throw new TraitCreationFailed(
      `trait ${trait} could not be made; names are either standard or CUSTOM_ and upper case letters, digits, _`,
      response,
    );
  }
}

/** @throws ResourceProviderUpdateConflict on any 409, ResourceProviderUpdateFailed on any other refusal */
function generationAfter(client: ClientContext, response: PlacementResponse, what: string): number {
  if (response.status === 409) {
    throw new ResourceProviderUpdateConflict(`${what} changed meanwhile; it is read again and tried again`, response);
  }
  if (response.status === 400) {
    client.known.classes.clear();
  }
  if (!response.ok) {
    throw new ResourceProviderUpdateFailed(`${what} could not be written`, response);
  }
  return response.read(generationIn);
}
