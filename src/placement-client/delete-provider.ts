import type { ClientContext } from "./client-context.js";
import { deleteAllocation } from "./delete-allocation.js";
import { removeProviderTree } from "./edit-allocations.js";
import { ResourceProviderDeletionFailed, ResourceProviderInUse } from "./errors.js";
import { deleteProvider, listTree } from "./provider-requests.js";
import type { DeletionCascade, ProviderListing, RequestContext } from "./types.js";

/** Deletes a node's providers and, before, the allocations that upstream knows to be left over (spec 5.8). */
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
      client.logger.error("the allocation of an evacuated instance could not be removed", {
        instance,
        provider: root,
      });
    }
  }
  const remaining: string[] = [];
  for (const { uuid } of childrenFirst(await listTree(client.http, root, context))) {
    try {
      await deleteProvider(client.http, uuid, context);
      client.cache.invalidateProvider(uuid);
    } catch (error) {
      if (!(error instanceof ResourceProviderInUse || error instanceof ResourceProviderDeletionFailed)) {
        throw error;
      }
      client.logger.error("the resource provider stays", { provider: uuid, err: error });
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
