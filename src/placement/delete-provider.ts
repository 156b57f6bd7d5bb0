import type { Logger } from "../runtime/logger.js";
import type { AllocationDeleter } from "./delete-allocation.js";
import type { AllocationEditor } from "./edit-allocations.js";
import { ResourceProviderDeletionFailed, ResourceProviderInUse } from "./errors.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { deleteProvider, listTree } from "./provider-requests.js";
import type { DeletionCascade } from "./report-client.js";
import type { ProviderListing, RequestContext } from "./types.js";

/** Deletes a node's providers and, before, the allocations that upstream knows to be left over (spec 5.8). */
export class ProviderDeleter {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #deleter: AllocationDeleter;
  readonly #editor: AllocationEditor;
  readonly #logger: Logger;

  constructor(parts: {
    readonly http: PlacementHttp;
    readonly cache: ProviderCache;
    readonly deleter: AllocationDeleter;
    readonly editor: AllocationEditor;
    readonly logger: Logger;
  }) {
    this.#http = parts.http;
    this.#cache = parts.cache;
    this.#deleter = parts.deleter;
    this.#editor = parts.editor;
    this.#logger = parts.logger;
  }

  async delete(
    root: string,
    cascade: DeletionCascade | undefined,
    context: RequestContext,
  ): Promise<{ readonly remaining: readonly string[] }> {
    for (const instance of cascade?.instances ?? []) {
      await this.#deleter.delete(instance, true, context);
    }
    for (const instance of cascade?.evacuated ?? []) {
      if (!(await this.#editor.removeTree(instance, root, { retry: false, ...context }))) {
        this.#logger.error("the allocation of an evacuated instance could not be removed", {
          instance,
          provider: root,
        });
      }
    }
    const remaining: string[] = [];
    for (const { uuid } of childrenFirst(await listTree(this.#http, root, context))) {
      try {
        await deleteProvider(this.#http, uuid, context);
        this.#cache.invalidateProvider(uuid);
      } catch (error) {
        if (!(error instanceof ResourceProviderInUse || error instanceof ResourceProviderDeletionFailed)) {
          throw error;
        }
        this.#logger.error("the resource provider stays", { provider: uuid, err: error });
        remaining.push(uuid);
      }
    }
    if (remaining.length === 0) {
      this.#cache.invalidateProvider(root);
    }
    return { remaining };
  }
}

function childrenFirst(providers: readonly ProviderListing[]): ProviderListing[] {
  const parents = new Map(providers.map(({ uuid, parentUuid }) => [uuid, parentUuid]));
  const depth = (uuid: string): number => {
    const parent = parents.get(uuid);
    return parent === undefined || parent === null ? 0 : 1 + depth(parent);
  };
  return providers.toSorted((left, right) => depth(right.uuid) - depth(left.uuid));
}
