import type { ClientContext } from "./client-context.js";
import { deleteAllocation, removeProviderTree } from "./edit-allocations.js";
import { isPlacementError } from "./errors.js";
import { refreshAssociations } from "./provider-associations.js";
import { createProvider, deleteProvider, listProviders, listTree, PlacementPass } from "./provider-requests.js";
import type { DeletionCascade, ProviderListing, RequestContext } from "./types.js";

/** Lists the trees of all roots in one request and drops outdated trees from the cache. */
export async function beginPass(
  client: ClientContext,
  roots: readonly string[],
  { listed: known, ...context }: RequestContext & { readonly listed?: readonly ProviderListing[] | undefined },
): Promise<PlacementPass> {
  const pass = new PlacementPass(roots, known ?? (await listed(client, roots, context)));
  for (const root of roots) {
    if (client.cache.tree.exists(root) && !sameMembers(client, root, pass.members(root) ?? [])) {
      client.cache.invalidateTree(root);
    }
  }
  return pass;
}

async function listed(
  client: ClientContext,
  roots: readonly string[],
  context: RequestContext,
): Promise<readonly ProviderListing[]> {
  const [only] = roots;
  if (only === undefined) {
    return [];
  }
  return roots.length === 1 ? listTree(client.http, only, context) : listProviders(client.http, "", context);
}

/** Loads the root of a node and its descendants into the cache. */
export async function ensureRoot(
  client: ClientContext,
  uuid: string,
  name: string,
  pass: PlacementPass | undefined,
  context: RequestContext,
): Promise<void> {
  // Consumed even if it is not needed: a redrive of this pass must not use it, since the conflict shows that it is
  // outdated.
  const members = pass?.takeMembers(uuid);
  if (client.cache.tree.exists(uuid) && !client.cache.isStale(uuid)) {
    for (const member of client.cache.tree.providerUuids(uuid)) {
      await refreshAssociations(client, member, { force: false }, context);
    }
    return;
  }
  await loadProvider(client, { uuid, name, parentUuid: null }, members, context);
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

function sameMembers(client: ClientContext, root: string, members: readonly ProviderListing[]): boolean {
  const { tree } = client.cache;
  return (
    members.length === tree.providerUuidsInTree(root).length &&
    members.every(({ uuid, name, parentUuid }) => {
      const known = tree.find(uuid);
      return known?.name === name && known.parentUuid === parentUuid;
    })
  );
}

/** Deletes a node's providers, after the leftover allocations that upstream deletes as well (spec 5.8). */
export async function deleteProviderTree(
  client: ClientContext,
  root: string,
  cascade: DeletionCascade | undefined,
  context: RequestContext,
): Promise<{ readonly remaining: readonly string[] }> {
  for (const instance of cascade?.instances ?? []) {
    await deleteAllocation(client, instance, true, context);
  }
  for (const instance of cascade?.evacuated ?? []) {
    if (!(await removeProviderTree(client, instance, root, { retry: false, ...context }))) {
      client.logger.error(
        `instance ${instance} was evacuated, but its allocations on provider ${root} could not be removed`,
        {
          instance,
          provider: root,
        },
      );
    }
  }
  const remaining: string[] = [];
  for (const { uuid } of childrenFirst(await listTree(client.http, root, context))) {
    try {
      await deleteProvider(client.http, uuid, context);
      client.cache.invalidateProvider(uuid);
    } catch (error) {
      if (!isPlacementError(error, "ResourceProviderInUse", "ResourceProviderDeletionFailed")) {
        throw error;
      }
      client.logger.error(`resource provider ${uuid} could not be deleted; keeping it`, { provider: uuid, err: error });
      remaining.push(uuid);
    }
  }
  if (remaining.length === 0) {
    client.cache.invalidateProvider(root);
  }
  return { remaining };
}

function childrenFirst(providers: readonly ProviderListing[]): ProviderListing[] {
  const parents = new Map(providers.map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  const depth = (uuid: string): number => {
    const parent = parents.get(uuid);
    return parent === undefined || parent === null ? 0 : 1 + depth(parent);
  };
  return providers.toSorted((left, right) => depth(right.uuid) - depth(left.uuid));
}
