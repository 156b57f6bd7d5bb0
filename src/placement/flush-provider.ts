import type { InventoryRecord } from "../virt/provider-tree.js";
import {
  InvalidResourceClass,
  InventoryInUse,
  ResourceProviderUpdateConflict,
  ResourceProviderUpdateFailed,
  TraitCreationFailed,
  TraitRetrievalFailed,
} from "./errors.js";
import { asArray, asString } from "./json.js";
import type { PlacementAnswer, PlacementHttp } from "./placement-http.js";
import type { ProviderCache } from "./provider-cache.js";
import { generationIn, inventoryToWire } from "./provider-requests.js";
import type { ProviderTraits } from "./report-client.js";
import type { RequestContext } from "./types.js";

/** Writes inventory, aggregates and traits of one provider, each only if it differs from the cache (spec 5.2, 5.3). */
export class ProviderWriter {
  readonly #http: PlacementHttp;
  readonly #cache: ProviderCache;
  readonly #knownClasses = new Set<string>();
  readonly #knownTraits = new Set<string>();

  constructor(http: PlacementHttp, cache: ProviderCache) {
    this.#http = http;
    this.#cache = cache;
  }

  /** Forgets which classes and traits Placement was seen to know. */
  clear(): void {
    this.#knownClasses.clear();
    this.#knownTraits.clear();
  }

  async setInventory(
    uuid: string,
    inventory: Readonly<Record<string, InventoryRecord>>,
    context: RequestContext,
  ): Promise<void> {
    if (!this.#cache.tree.hasInventoryChanged(uuid, inventory)) {
      return;
    }
    await this.ensureClasses(Object.keys(inventory), context);
    const { generation } = this.#cache.tree.data(uuid);
    const inventories = Object.fromEntries(
      Object.entries(inventory).map(([name, record]) => [name, inventoryToWire(record)]),
    );
    const answer = await this.#http.put(`/resource_providers/${uuid}/inventories`, {
      ...context,
      version: "1.26",
      body: { resource_provider_generation: generation, inventories },
    });
    if (answer.status === 409 && answer.code === "placement.inventory.inuse") {
      throw new InventoryInUse(
        `provider ${uuid}: an inventory that the driver no longer reports still has allocations; move or delete what holds them`,
        answer,
      );
    }
    const after = this.#generationAfter(answer, `the inventory of provider ${uuid}`);
    this.#cache.tree.updateInventory(uuid, inventory, after);
    this.#cache.allocations.advance(uuid, generation, after);
  }

  async setAggregates(uuid: string, aggregates: ReadonlySet<string>, context: RequestContext): Promise<void> {
    if (!this.#cache.tree.haveAggregatesChanged(uuid, aggregates)) {
      return;
    }
    const { generation } = this.#cache.tree.data(uuid);
    const answer = await this.#http.put(`/resource_providers/${uuid}/aggregates`, {
      ...context,
      version: "1.19",
      body: { aggregates: [...aggregates], resource_provider_generation: generation },
    });
    const after = this.#generationAfter(answer, `the aggregates of provider ${uuid}`);
    this.#cache.tree.updateAggregates(uuid, aggregates, after);
    this.#cache.allocations.advance(uuid, generation, after);
  }

  async setTraits(uuid: string, traits: ReadonlySet<string>, context: RequestContext): Promise<void> {
    if (!this.#cache.tree.haveTraitsChanged(uuid, traits)) {
      return;
    }
    const { generation } = this.#cache.tree.data(uuid);
    await this.putTraits(uuid, { traits: [...traits], generation: generation ?? 0 }, context);
  }

  /** Writes the traits whatever the cache says; the cache follows. */
  async putTraits(uuid: string, { traits, generation }: ProviderTraits, context: RequestContext): Promise<void> {
    await this.#ensureTraits(traits, context);
    const answer = await this.#http.put(`/resource_providers/${uuid}/traits`, {
      ...context,
      version: "1.6",
      body: { resource_provider_generation: generation, traits },
    });
    if (answer.status === 400) {
      // One of them was deleted meanwhile; the next try asks for them again.
      for (const trait of traits) {
        this.#knownTraits.delete(trait);
      }
    }
    const after = this.#generationAfter(answer, `the traits of provider ${uuid}`);
    const known = this.#cache.tree.find(uuid);
    if (known === undefined) {
      return;
    }
    // With another generation than the one we knew, there are changes of inventory or aggregates that we have not seen.
    this.#cache.tree.updateTraits(uuid, traits, known.generation === generation ? after : known.generation);
    this.#cache.allocations.advance(uuid, generation, after);
  }

  /** Custom classes are made; standard ones are Placement's own. @throws InvalidResourceClass */
  async ensureClasses(names: readonly string[], context: RequestContext): Promise<void> {
    for (const name of names) {
      if (!name.startsWith("CUSTOM_") || this.#knownClasses.has(name)) {
        continue;
      }
      const answer = await this.#http.put(`/resource_classes/${encodeURIComponent(name)}`, {
        ...context,
        version: "1.7",
      });
      if (!answer.ok) {
        throw new InvalidResourceClass(
          `resource class ${name} could not be made; names of custom classes are CUSTOM_ and upper case letters, digits, _`,
          answer,
        );
      }
      this.#knownClasses.add(name);
    }
  }

  async #ensureTraits(traits: readonly string[], context: RequestContext): Promise<void> {
    const unknown = traits.filter((trait) => !this.#knownTraits.has(trait));
    if (unknown.length === 0) {
      return;
    }
    const query = unknown.map(encodeURIComponent).join(",");
    const answer = await this.#http.get(`/traits?name=in:${query}`, { ...context, version: "1.6" });
    if (!answer.ok) {
      throw new TraitRetrievalFailed("asking which traits exist failed", answer);
    }
    const existing = new Set(answer.read(({ traits: known }) => asArray(known).map(asString)));
    for (const trait of unknown) {
      if (!existing.has(trait)) {
        await this.#createTrait(trait, context);
      }
      this.#knownTraits.add(trait);
    }
  }

  async #createTrait(trait: string, context: RequestContext): Promise<void> {
    const answer = await this.#http.put(`/traits/${encodeURIComponent(trait)}`, { ...context, version: "1.6" });
    if (!answer.ok) {
      throw new TraitCreationFailed(
        `trait ${trait} could not be made; names are either standard or CUSTOM_ and upper case letters, digits, _`,
        answer,
      );
    }
  }

  /** @throws ResourceProviderUpdateConflict on any 409, ResourceProviderUpdateFailed on any other refusal */
  #generationAfter(answer: PlacementAnswer, what: string): number {
    if (answer.status === 409) {
      throw new ResourceProviderUpdateConflict(`${what} changed meanwhile; it is read again and tried again`, answer);
    }
    if (answer.status === 400) {
      this.#knownClasses.clear();
    }
    if (!answer.ok) {
      throw new ResourceProviderUpdateFailed(`${what} could not be written`, answer);
    }
    return answer.read(generationIn);
  }
}
