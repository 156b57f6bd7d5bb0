import type { ClientContext } from "./client-context.js";
import { listProviders, readAggregates, readInventory, readTraits } from "./provider-requests.js";
import type { ProviderListing, RequestContext } from "./types.js";

/** Refreshes the provider if it is stale, or if `force`. */
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
  // Somebody may write between the three reads: with the lowest generation, our next write conflicts and reads again.
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

/** Not its own sharers; and not again for every node that it shares with. */
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
