import { SparseMap } from "../runtime/collections.js";
import type { InventoryRecord } from "../virt/provider-tree.js";
import { createAllocationError, PlacementError, type PlacementErrorCode } from "./errors.js";
import { asArray, asNumber, asRecord, asString, asStringOrNull, asStrings, mapRecord } from "./json.js";
import type { PlacementCall, PlacementHttp, PlacementResponse } from "./placement-http.js";
import type { ProviderAllocations, ProviderListing, RequestContext, ResourceAmounts } from "./types.js";

/** The inventory, aggregates or traits of a provider. */
export interface Association<T> {
  readonly value: T;
  /** The provider's generation at that time. */
  readonly generation: number;
}

/**
 * `GET /resource_providers` with a query; with an empty query it lists all providers.
 * @throws ResourceProviderRetrievalFailed
 */
export async function listProviders(
  http: PlacementHttp,
  query: string,
  context: RequestContext,
  version = "1.14",
): Promise<ProviderListing[]> {
  const response = await http.get(`/resource_providers${query && `?${query}`}`, { ...context, version });
  if (!response.ok) {
    throw new PlacementError(
      "ResourceProviderRetrievalFailed",
      `listing resource providers (${query}) failed`,
      response,
    );
  }
  return response.read(({ resource_providers }) => asArray(resource_providers).map(readProvider));
}

/**
 * Lists the complete tree that contains the provider; empty if it does not exist.
 * @throws ResourceProviderRetrievalFailed
 */
export function listTree(http: PlacementHttp, uuid: string, context: RequestContext): Promise<ProviderListing[]> {
  return listProviders(http, `in_tree=${uuid}`, context);
}

/**
 * Creates a provider, or returns the one that another client has just created with the same uuid (spec 5.3).
 * @throws ResourceProviderCreationFailed
 */
export async function createProvider(
  http: PlacementHttp,
  provider: { readonly uuid: string; readonly name: string; readonly parentUuid: string | null },
  context: RequestContext,
): Promise<{ readonly provider: ProviderListing; readonly created: boolean }> {
  const { uuid, name, parentUuid } = provider;
  const body = { uuid, name, ...(parentUuid === null ? {} : { parent_provider_uuid: parentUuid }) };
  const response = await http.post("/resource_providers", { ...context, version: "1.20", body });
  if (response.ok) {
    return { provider: response.read(readProvider), created: true };
  }
  if (response.status === 409 && !response.detail.includes("Conflicting resource provider name:")) {
    const existing = await http.get(`/resource_providers/${uuid}`, { ...context, version: "1.14" });
    if (existing.ok) {
      return { provider: existing.read(readProvider), created: false };
    }
  }
  throw new PlacementError(
    "ResourceProviderCreationFailed",
    `resource provider ${name} (${uuid}) could not be created; if another provider has this name, ` +
      `check it with "openstack resource provider list --name ${name}", and delete it if its compute node no longer exists`,
    response,
  );
}

/**
 * Deletes a provider. A missing provider is not an error.
 * @throws ResourceProviderInUse (allocations or children), ResourceProviderDeletionFailed
 */
export async function deleteProvider(http: PlacementHttp, uuid: string, context: RequestContext): Promise<void> {
  const response = await http.delete(`/resource_providers/${uuid}`, context);
  if (response.ok || response.status === 404) {
    return;
  }
  if (response.status === 409) {
    throw new PlacementError(
      "ResourceProviderInUse",
      `resource provider ${uuid} is in use; see "openstack resource provider show --allocations ${uuid}"`,
      response,
    );
  }
  throw new PlacementError(
    "ResourceProviderDeletionFailed",
    `resource provider ${uuid} could not be deleted`,
    response,
  );
}

/** @throws ResourceProviderRetrievalFailed */
export function readInventory(
  http: PlacementHttp,
  uuid: string,
  context: RequestContext,
): Promise<Association<Record<string, InventoryRecord>>> {
  return readAssociation(http, uuid, "inventories", "ResourceProviderRetrievalFailed", context, (inventories) =>
    mapRecord(inventories, inventoryFromWire),
  );
}

/** @throws ResourceProviderAggregateRetrievalFailed */
export function readAggregates(
  http: PlacementHttp,
  uuid: string,
  context: RequestContext,
): Promise<Association<string[]>> {
  const call = { ...context, version: "1.19" };
  return readAssociation(http, uuid, "aggregates", "ResourceProviderAggregateRetrievalFailed", call, asStrings);
}

/** @throws ResourceProviderTraitRetrievalFailed */
export function readTraits(http: PlacementHttp, uuid: string, context: RequestContext): Promise<Association<string[]>> {
  const call = { ...context, version: "1.6" };
  return readAssociation(http, uuid, "traits", "ResourceProviderTraitRetrievalFailed", call, asStrings);
}

async function readAssociation<T>(
  http: PlacementHttp,
  uuid: string,
  name: "inventories" | "aggregates" | "traits",
  code: PlacementErrorCode,
  call: PlacementCall,
  reader: (value: unknown) => T,
): Promise<Association<T>> {
  const response = await http.get(`/resource_providers/${uuid}/${name}`, call);
  if (!response.ok) {
    const what = name === "inventories" ? "inventory" : name;
    throw new PlacementError(code, `reading the ${what} of ${uuid} failed`, response);
  }
  return response.read((body) => ({ value: reader(body[name]), generation: generationIn(body) }));
}

export function putAggregates(
  http: PlacementHttp,
  uuid: string,
  { aggregates, generation }: { readonly aggregates: ReadonlySet<string>; readonly generation: number | null },
  context: RequestContext,
): Promise<PlacementResponse> {
  return http.put(`/resource_providers/${uuid}/aggregates`, {
    ...context,
    version: "1.19",
    body: { aggregates: [...aggregates], resource_provider_generation: generation },
  });
}

export function generationIn(body: Readonly<Record<string, unknown>>): number {
  return asNumber(body.resource_provider_generation);
}

export function inventoriesToWire(inventories: Readonly<Record<string, InventoryRecord>>) {
  const entries = Object.entries(inventories).map(([name, record]) => {
    const { total, reserved, minUnit, maxUnit, stepSize, allocationRatio } = record;
    const units = { min_unit: minUnit, max_unit: maxUnit, step_size: stepSize };
    return [name, { total, ...units, allocation_ratio: allocationRatio, reserved }] as const;
  });
  return Object.fromEntries(entries);
}

function inventoryFromWire(value: unknown): InventoryRecord {
  const wire = asRecord(value);
  return {
    total: asNumber(wire.total),
    reserved: asNumber(wire.reserved),
    minUnit: asNumber(wire.min_unit),
    maxUnit: asNumber(wire.max_unit),
    stepSize: asNumber(wire.step_size),
    allocationRatio: asNumber(wire.allocation_ratio),
  };
}

function readProvider(value: unknown): ProviderListing {
  const { uuid, name, generation, parent_provider_uuid, root_provider_uuid } = asRecord(value);
  return {
    uuid: asString(uuid),
    name: asString(name),
    generation: asNumber(generation),
    parentUuid: asStringOrNull(parent_provider_uuid),
    rootUuid: asStringOrNull(root_provider_uuid) ?? asString(uuid),
  };
}

/** The listing of providers at the start of a tracker pass; created by `ReportClient.beginPass`. */
export class PlacementPass {
  readonly #trees = new Map<string, ProviderListing[]>();
  readonly #generations = new Map<string, number>();

  /** @param roots the trees of the pass: a root that is not listed does not exist. */
  constructor(roots: readonly string[], listed: readonly ProviderListing[]) {
    for (const root of roots) {
      this.#trees.set(root, []);
    }
    for (const provider of listed) {
      this.#trees.get(provider.rootUuid)?.push(provider);
      this.#generations.set(provider.uuid, provider.generation);
    }
  }

  /** Returns the provider's generation in the listing; undefined if it did not exist or is not part of the pass. */
  generation(provider: string): number | undefined {
    return this.#generations.get(provider);
  }

  /** Returns the members of a tree: empty if it does not exist, undefined if it is not part of the pass. */
  members(root: string): readonly ProviderListing[] | undefined {
    return this.#trees.get(root);
  }

  /** Like {@link members}, but only for the first call: a caller repeats it only when the tree has changed. */
  takeMembers(root: string): readonly ProviderListing[] | undefined {
    const members = this.#trees.get(root);
    this.#trees.delete(root);
    return members;
  }
}

/**
 * `GET /resource_providers/U/allocations`.
 * @throws ResourceProviderAllocationRetrievalFailed
 */
export async function readProviderAllocations(
  http: PlacementHttp,
  uuid: string,
  context: RequestContext,
): Promise<ProviderAllocations> {
  const response = await http.get(`/resource_providers/${uuid}/allocations`, context);
  if (!response.ok) {
    throw createAllocationError("ResourceProviderAllocationRetrievalFailed", uuid, "they could not be read", response);
  }
  return response.read((body) => {
    const consumers = mapRecord(body.allocations, (held) => mapRecord(asRecord(held).resources, asNumber));
    return { consumers: new Map(Object.entries(consumers)), generation: generationIn(body) };
  });
}

/**
 * Caches the allocations of each provider as last read. Every new allocation bumps the provider's generation: while
 * that is unchanged, no consumer is missing here, but some may no longer have allocations (spec 5.4).
 */
export class ProviderAllocationMemory {
  readonly #read = new SparseMap<string, { consumers: SparseMap<string, ResourceAmounts>; generation: number }>();

  /** Returns the cached allocations if the pass proves that none were added since. */
  recall(uuid: string, pass: PlacementPass): ProviderAllocations | undefined {
    const known = this.#read.get(uuid);
    return known !== undefined && pass.generation(uuid) === known.generation
      ? { consumers: new Map(known.consumers), generation: known.generation }
      : undefined;
  }

  remember(uuid: string, { consumers, generation }: ProviderAllocations): void {
    const byConsumer = new SparseMap<string, ResourceAmounts>();
    for (const [consumer, held] of consumers) {
      byConsumer.set(consumer, held);
    }
    this.#read.set(uuid, { consumers: byConsumer, generation });
  }

  /** Follows a write of this client that bumped the generation: no other write came in between. */
  advance(uuid: string, from: number | null, to: number): void {
    const known = this.#read.get(uuid);
    if (known?.generation === from) {
      known.generation = to;
    }
  }

  /** Removes a consumer that no longer has any allocations. */
  forgetConsumer(consumer: string): void {
    for (const { consumers } of this.#read.values()) {
      consumers.delete(consumer);
    }
  }

  /** Removes a consumer that no longer has allocations on this provider. */
  forget(uuid: string, consumer: string): void {
    this.#read.get(uuid)?.consumers.delete(consumer);
  }

  forgetProvider(uuid: string): void {
    this.#read.delete(uuid);
  }

  clear(): void {
    this.#read.clear();
  }
}
