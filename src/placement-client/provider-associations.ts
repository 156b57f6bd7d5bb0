import type { InventoryRecord } from "../virt/provider-tree.js";
import type { ClientContext } from "./client-context.js";
import { PlacementError } from "./errors.js";
import { asStrings } from "./json.js";
import type { PlacementResponse } from "./placement-http.js";
import {
  createProvider,
  generationIn,
  inventoriesToWire,
  listProviders,
  listTree,
  putAggregates,
  readAggregates,
  readInventory,
  readTraits,
} from "./provider-requests.js";
import type { ProviderListing, ProviderTraits, RequestContext } from "./types.js";

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
  const response = await client.http.put(`/resource_providers/${uuid}/inventories`, {
    ...context,
    version: "1.26",
    body: { resource_provider_generation: generation, inventories: inventoriesToWire(inventory) },
  });
  if (response.status === 409 && response.code === "placement.inventory.inuse") {
    throw new PlacementError(
      "InventoryInUse",
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

/** Writes the traits regardless of the cache, and updates the cache. */
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
    // One of them was deleted in the meantime; the next attempt checks all of them again.
    for (const trait of traits) {
      client.known.traits.delete(trait);
    }
  }
  const after = generationAfter(client, response, `the traits of provider ${uuid}`);
  const known = client.cache.tree.find(uuid);
  if (known === undefined) {
    return;
  }
  // If `generation` is not the cached one, inventory or aggregates have changes that are not in the cache yet.
  client.cache.tree.updateTraits(uuid, traits, known.generation === generation ? after : known.generation);
  client.cache.allocations.advance(uuid, generation, after);
}

/**
 * Creates unknown custom classes; standard classes always exist.
 * @throws InvalidResourceClass
 */
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
      throw new PlacementError(
        "InvalidResourceClass",
        `resource class ${name} could not be created; names of custom classes are CUSTOM_ and upper case letters, digits, _`,
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
    throw new PlacementError("TraitRetrievalFailed", "reading the existing traits failed", response);
  }
  const existing = new Set(response.read(({ traits: known }) => asStrings(known)));
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
    throw new PlacementError(
      "TraitCreationFailed",
      `trait ${trait} could not be created; names are either standard or CUSTOM_ and upper case letters, digits, _`,
      response,
    );
  }
}

/** @throws ResourceProviderUpdateConflict on any 409, ResourceProviderUpdateFailed on any other error status */
function generationAfter(client: ClientContext, response: PlacementResponse, what: string): number {
  if (response.status === 409) {
    throw new PlacementError(
      "ResourceProviderUpdateConflict",
      `${what} changed meanwhile; reading it again and retrying`,
      response,
    );
  }
  if (response.status === 400) {
    client.known.classes.clear();
  }
  if (!response.ok) {
    throw new PlacementError("ResourceProviderUpdateFailed", `${what} could not be written`, response);
  }
  return response.read(generationIn);
}

/** Refreshes the associations of a provider if they are stale or `force` is set. */
export async function refreshAssociations(
  client: ClientContext,
  uuid: string,
  options: { readonly force: boolean },
  context: RequestContext,
): Promise<void> {
  if (!options.force && !client.cache.isStale(uuid)) {
    return;
  }
  const aggregates = await readAssociations(client, uuid, context);
  for (const sharing of await sharingVia(client, aggregates, context)) {
    await refreshSharing(client, sharing, context);
  }
}

async function readAssociations(
  client: ClientContext,
  uuid: string,
  context: RequestContext,
): Promise<readonly string[]> {
  const [inventory, aggregates, traits] = await Promise.all([
    readInventory(client.http, uuid, context),
    readAggregates(client.http, uuid, context),
    readTraits(client.http, uuid, context),
  ]);
  // Another client may write between the three reads. With the lowest generation, our next write conflicts and reads
  // again.
  const generation = Math.min(inventory.generation, aggregates.generation, traits.generation);
  const { tree } = client.cache;
  tree.updateInventory(uuid, inventory.value);
  tree.updateAggregates(uuid, aggregates.value);
  tree.updateTraits(uuid, traits.value, generation);
  client.cache.allocations.forgetProvider(uuid);
  client.cache.markFresh(uuid);
  return aggregates.value;
}

async function sharingVia(
  client: ClientContext,
  aggregates: readonly string[],
  context: RequestContext,
): Promise<ProviderListing[]> {
  const found = new Map<string, ProviderListing>();
  for (let start = 0; start < aggregates.length; start += client.uuidsPerRequest) {
    const some = aggregates.slice(start, start + client.uuidsPerRequest).join(",");
    const query = `member_of=in:${some}&required=MISC_SHARES_VIA_AGGREGATE`;
    for (const provider of await listProviders(client.http, query, context, "1.18")) {
      found.set(provider.uuid, provider);
    }
  }
  return [...found.values()];
}

/**
 * Reads a sharing provider's associations if they are stale, but not the providers that share with it. It is thus read
 * once, not for every node that it shares with.
 */
async function refreshSharing(client: ClientContext, sharing: ProviderListing, context: RequestContext): Promise<void> {
  const { uuid, name, generation } = sharing;
  if (!client.cache.tree.exists(uuid)) {
    client.cache.tree.newRoot(name, uuid, generation);
  }
  client.cache.markSharing(uuid);
  if (client.cache.isStale(uuid)) {
    await readAssociations(client, uuid, context);
  }
}

/**
 * Loads a provider that is not cached. It may exist: another client or an interrupted pass may have created it.
 * @param members its tree, if it has just been listed
 */
export async function loadProvider(
  client: ClientContext,
  provider: { readonly uuid: string; readonly name: string; readonly parentUuid: string | null },
  members: readonly ProviderListing[] | undefined,
  context: RequestContext,
): Promise<void> {
  const listed = members ?? (await listTree(client.http, provider.uuid, context));
  if (listed.length > 0) {
    await adopt(client, listed, context);
    return;
  }
  client.cache.invalidateProvider(provider.uuid);
  const made = await createProvider(client.http, provider, context);
  if (made.created) {
    insert(client, made.provider);
    // A new provider has no associations and no consumers, so there is nothing to read.
    client.cache.markFresh(provider.uuid);
    client.cache.allocations.remember(provider.uuid, { consumers: new Map(), generation: made.provider.generation });
  } else {
    await adopt(client, await listTree(client.http, provider.uuid, context), context);
  }
}

async function adopt(
  client: ClientContext,
  listed: readonly ProviderListing[],
  context: RequestContext,
): Promise<void> {
  client.cache.tree.populate(listed);
  for (const { uuid } of listed) {
    await refreshAssociations(client, uuid, { force: true }, context);
  }
}

function insert(client: ClientContext, { uuid, name, parentUuid, generation }: ProviderListing): void {
  const { tree } = client.cache;
  if (parentUuid === null) {
    tree.newRoot(name, uuid, generation);
  } else {
    tree.newChild(name, parentUuid, uuid, generation);
  }
}
