import { mapConcurrently } from "../../runtime/task-queue.js";
import type { ServiceClient } from "../cloud/service-client.js";
import { isAuditError } from "../errors.js";
import type { Consumer, ConsumerRecord, Held, Inventory, OnProgress, Provider } from "./records.js";
import { asArray, asNumber, asRecord, asString, asStringOrNull, mapRecord, numberOr } from "./response-fields.js";

/** Maximum number of parallel requests. */
export const CONCURRENCY = 24;

/** A provider without the data that needs a request per provider. */
export type BareProvider = Omit<Provider, "inventories">;

/**
 * Lists all providers with their names and trees, and the members with which sharing providers share. @throws * {AuditError}
 */
export async function listProviders(placement: ServiceClient): Promise<Map<string, BareProvider>> {
  const [all, sharing, ...novas] = await Promise.all([
    placement.get("/resource_providers"),
    withTrait(placement, "MISC_SHARES_VIA_AGGREGATE"),
    withTrait(placement, "COMPUTE_NODE"),
    withTrait(placement, "OWNER_NOVA"),
  ]);
  const sharedWith = new Map(
    await mapConcurrently(sharing, CONCURRENCY, async (uuid) => [uuid, await usersOf(placement, uuid)] as const),
  );
  const isNovas = new Set(novas.flat());
  return new Map(
    asArray(all.resource_providers)
      .map(asRecord)
      .map((entry) => {
        const uuid = asString(entry.uuid);
        const shared = sharedWith.get(uuid);
        return [
          uuid,
          {
            uuid,
            name: asString(entry.name),
            generation: asNumber(entry.generation),
            parent: asStringOrNull(entry.parent_provider_uuid),
            root: asStringOrNull(entry.root_provider_uuid) ?? uuid,
            isNovas: isNovas.has(uuid),
            ...(shared ? { sharedWith: shared } : {}),
          },
        ];
      }),
  );
}

/** Returns the providers with a trait, or none if Placement does not know the trait and responds with 400. */
async function withTrait(placement: ServiceClient, trait: string): Promise<readonly string[]> {
  try {
    return uuidsIn(await placement.get(`/resource_providers?required=${trait}`));
  } catch (error) {
    if (isAuditError(error, "CloudRefused") && error.status === 400) {
      return [];
    }
    throw error;
  }
}

function uuidsIn(body: unknown): readonly string[] {
  return asArray(asRecord(body).resource_providers).map((entry) => asString(asRecord(entry).uuid));
}

/** Returns the members of the sharing provider's aggregates. */
async function usersOf(placement: ServiceClient, uuid: string): Promise<ReadonlySet<string>> {
  const { aggregates } = await placement.get(`/resource_providers/${uuid}/aggregates`);
  const members = asArray(aggregates).map(asString).join(",");
  if (members === "") {
    return new Set();
  }
  return new Set(uuidsIn(await placement.get(`/resource_providers?member_of=in:${members}`)));
}

/**
 * Reads a provider's inventories and its consumers' allocations. Returns undefined if it no longer exists. @throws * {AuditError}
 */
export async function readProvider(
  placement: ServiceClient,
  bare: BareProvider,
): Promise<{ readonly provider: Provider; readonly consumers: readonly Consumer[] } | undefined> {
  const [inventories, allocations] = await Promise.all([
    placement.find(`/resource_providers/${bare.uuid}/inventories`),
    placement.find(`/resource_providers/${bare.uuid}/allocations`),
  ]);
  if (!inventories || !allocations) {
    return undefined;
  }
  const provider = {
    ...bare,
    generation: asNumber(inventories.resource_provider_generation),
    inventories: inventoriesIn(inventories),
  };
  const consumers = Object.entries(asRecord(allocations.allocations)).map(([uuid, value]) => {
    const { resources, consumer_generation } = asRecord(value);
    return { uuid, generation: asNumber(consumer_generation), held: { [bare.uuid]: mapRecord(resources, asNumber) } };
  });
  return { provider, consumers };
}

/** Returns the inventories in a response of `GET /resource_providers/U/inventories`. */
export function inventoriesIn({ inventories }: Readonly<Record<string, unknown>>): Provider["inventories"] {
  return mapRecord(inventories, inventoryOf);
}

function inventoryOf(value: unknown): Inventory {
  const { total, reserved, min_unit, max_unit, step_size, allocation_ratio } = asRecord(value);
  return {
    total: asNumber(total),
    reserved: numberOr(reserved, 0),
    min_unit: numberOr(min_unit, 1),
    max_unit: numberOr(max_unit, 2 ** 31 - 1),
    step_size: numberOr(step_size, 1),
    allocation_ratio: numberOr(allocation_ratio, 1),
  };
}

/** Merges the allocations on single providers by consumer uuid. */
function joinConsumers(parts: readonly Consumer[]): Map<string, Consumer> {
  const joined = new Map<string, Consumer>();
  for (const part of parts) {
    const known = joined.get(part.uuid);
    // The parts were read at different times. With the older generation, a write fails if anything changed in between.
    const generation = Math.min(known?.generation ?? Number.POSITIVE_INFINITY, part.generation ?? 0);
    joined.set(part.uuid, known ? { ...part, generation, held: { ...known.held, ...part.held } } : part);
  }
  return joined;
}

/** Reads one consumer. If Placement does not know it, `held` is empty and the generation null. @throws {AuditError} */
export async function readConsumer(placement: ServiceClient, uuid: string): Promise<ConsumerRecord> {
  const body = await placement.get(`/allocations/${encodeURIComponent(uuid)}`);
  const held: Held = mapRecord(body.allocations, (entry) => mapRecord(asRecord(entry).resources, asNumber));
  const generation = body.consumer_generation;
  return {
    uuid,
    generation: typeof generation === "number" ? generation : null,
    held,
    projectId: asStringOrNull(body.project_id),
    userId: asStringOrNull(body.user_id),
    type: asStringOrNull(body.consumer_type),
  };
}

/** Reads all providers, skipping those that disappear in the meantime. @throws {AuditError} */
export async function readProviders(
  placement: ServiceClient,
  bare: Iterable<BareProvider>,
  onProgress: OnProgress,
): Promise<{ readonly providers: Map<string, Provider>; readonly consumers: Map<string, Consumer> }> {
  const all = [...bare];
  let done = 0;
  const read = await mapConcurrently(all, CONCURRENCY, async (each) => {
    const found = await readProvider(placement, each);
    done += 1;
    onProgress("resource providers", done, all.length);
    return found;
  });
  const found = read.filter((each) => each !== undefined);
  return {
    providers: new Map(found.map(({ provider }) => [provider.uuid, provider])),
    consumers: joinConsumers(found.flatMap(({ consumers }) => consumers)),
  };
}
