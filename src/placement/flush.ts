import type { Logger } from "../runtime/logger.js";
import type { ProviderTree } from "../virt/provider-tree.js";
import type { ProviderEnsurer } from "./ensure-provider.js";
import {
  InventoryInUse,
  PlacementAPIConnectFailure,
  PlacementError,
  PlacementPciException,
  PlacementReshapeConflict,
  ReshapeFailed,
  ResourceProviderSyncFailed,
  ResourceProviderUpdateConflict,
} from "./errors.js";
import type { ProviderWriter } from "./flush-provider.js";
import type { PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { deleteProvider } from "./provider-requests.js";
import type { Reshaper } from "./reshape.js";
import type { ConsumerAllocations, RequestContext } from "./types.js";

/** Writes an edited tree: what differs from the cache, and nothing else (spec 5.2). */
export class TreeFlusher {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #ensurer: ProviderEnsurer;
  readonly #writer: ProviderWriter;
  readonly #reshaper: Reshaper;
  readonly #logger: Logger;

  constructor(parts: {
    readonly http: PlacementHttp;
    readonly cache: ProviderCache;
    readonly ensurer: ProviderEnsurer;
    readonly writer: ProviderWriter;
    readonly reshaper: Reshaper;
    readonly logger: Logger;
  }) {
    this.#http = parts.http;
    this.#cache = parts.cache;
    this.#ensurer = parts.ensurer;
    this.#writer = parts.writer;
    this.#reshaper = parts.reshaper;
    this.#logger = parts.logger;
  }

  async flush(
    tree: ProviderTree,
    reshape: ReadonlyMap<string, ConsumerAllocations> | undefined,
    context: RequestContext,
  ): Promise<void> {
    const failures: Failure[] = [];
    const removed = this.#removedFrom(tree);
    await this.#createMissing(tree, failures, context);
    if (reshape) {
      await this.#reshape(tree, removed, reshape, failures, context);
    }
    await this.#deleteRemoved(tree, removed, failures, context);
    await this.#writeChanged(tree, failures, context);
    this.#copyGenerations(tree);
    this.#raise(tree, failures);
  }

  /** Cached members of the tree's roots that it no longer has, children first. A root itself is never removed. */
  #removedFrom(tree: ProviderTree): string[] {
    return tree.roots
      .filter((root) => this.#cache.tree.exists(root))
      .flatMap((root) => this.#cache.tree.providerUuidsBottomUp(root))
      .filter((uuid) => !tree.exists(uuid));
  }

  async #createMissing(tree: ProviderTree, failures: Failure[], context: RequestContext): Promise<void> {
    for (const uuid of tree.providerUuids()) {
      if (this.#cache.tree.exists(uuid)) {
        continue;
      }
      await this.#guard(tree, uuid, failures, () => this.#ensurer.load(tree.data(uuid), undefined, context));
    }
  }

  async #reshape(
    tree: ProviderTree,
    removed: readonly string[],
    consumers: ReadonlyMap<string, ConsumerAllocations>,
    failures: readonly Failure[],
    context: RequestContext,
  ): Promise<void> {
    const [first] = failures;
    if (first) {
      throw new ReshapeFailed("a provider of the new tree could not be made", { cause: first.error });
    }
    try {
      await this.#reshaper.reshape(tree, removed, consumers, context);
    } catch (error) {
      if (error instanceof PlacementReshapeConflict) {
        this.#cache.clear();
      }
      throw error;
    }
  }

  async #deleteRemoved(
    tree: ProviderTree,
    removed: readonly string[],
    failures: Failure[],
    context: RequestContext,
  ): Promise<void> {
    for (const uuid of removed) {
      await this.#guard(tree, uuid, failures, async () => {
        await deleteProvider(this.#http, uuid, context);
        this.#cache.invalidateProvider(uuid);
      });
    }
  }

  async #writeChanged(tree: ProviderTree, failures: Failure[], context: RequestContext): Promise<void> {
    for (const uuid of tree.providerUuidsBottomUp()) {
      if (!this.#cache.tree.exists(uuid)) {
        continue;
      }
      const { inventory, aggregates, traits } = tree.data(uuid);
      await this.#guard(tree, uuid, failures, async () => {
        await this.#writer.setInventory(uuid, inventory, context);
        await this.#writer.setAggregates(uuid, aggregates, context);
        await this.#writer.setTraits(uuid, traits, context);
      });
    }
  }

  /** Discrete resources stay in the agent: the cache keeps what the driver said. */
  #copyGenerations(tree: ProviderTree): void {
    for (const uuid of tree.providerUuids()) {
      const written = this.#cache.tree.find(uuid);
      if (written === undefined) {
        continue;
      }
      const { generation, resources } = tree.data(uuid);
      if (written.generation !== null && written.generation !== generation) {
        tree.updateGeneration(uuid, written.generation);
      }
      if (written.resources !== resources) {
        this.#cache.tree.updateResources(uuid, resources);
      }
    }
  }

  /** One provider's failure does not keep the others from being written; a conflict ends the flush (table in 5.1). */
  async #guard(tree: ProviderTree, uuid: string, failures: Failure[], step: () => Promise<void>): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (error instanceof ResourceProviderUpdateConflict) {
        this.#invalidate(tree, uuid);
        throw error;
      }
      if (error instanceof InventoryInUse) {
        throw new PlacementPciException(error.message, undefined, { cause: error });
      }
      if (!(error instanceof PlacementError) || error instanceof PlacementAPIConnectFailure) {
        throw error;
      }
      this.#logger.error("resource provider could not be written", { provider: uuid, err: error });
      failures.push({ uuid, error });
    }
  }

  /** With a sharing provider its node goes too: only a node's refresh finds out who shares with it. */
  #invalidate(tree: ProviderTree, uuid: string): void {
    this.#cache.invalidateTree(uuid);
    const [node] = tree.roots;
    if (node !== undefined) {
      this.#cache.invalidateTree(node);
    }
  }

  #raise(tree: ProviderTree, failures: readonly Failure[]): void {
    const [first] = failures;
    if (!first) {
      return;
    }
    for (const { uuid } of failures) {
      this.#invalidate(tree, uuid);
    }
    throw new ResourceProviderSyncFailed(
      `${failures.length} of the providers could not be written, first ${first.uuid}: ${first.error.message}`,
      undefined,
      { cause: first.error },
    );
  }
}

interface Failure {
  readonly uuid: string;
  readonly error: PlacementError;
}
