import fc from "fast-check";
import type { Json } from "./json-text.js";
import { className, consumerType, generation, ownerId, PROVIDERS, providerUuid } from "./pools.js";

type Body = { readonly [key: string]: Json };

const inventory: fc.Arbitrary<Body> = fc.record(
  {
    total: fc.integer({ min: 1, max: 20 }),
    reserved: fc.constantFrom(0, 0, 1, 2, 20, 21),
    min_unit: fc.constantFrom(1, 1, 2),
    max_unit: fc.constantFrom(1, 4, 20),
    step_size: fc.constantFrom(1, 1, 2),
    allocation_ratio: fc.constantFrom(1, 1.5, 2, 0.5, 16),
  },
  { requiredKeys: ["total"] },
);

const inventories: fc.Arbitrary<Body> = fc.dictionary(className, inventory, { maxKeys: 3 });

export function putInventories(uuid: string): fc.Arbitrary<Body> {
  return fc.record({ resource_provider_generation: generation(uuid), inventories });
}

export function postInventory(uuid: string): fc.Arbitrary<Body> {
  return fc
    .record({ one: inventory, resource_class: className, generation: fc.option(generation(uuid)) })
    .map(({ one, resource_class, generation: providedGeneration }) => ({
      ...one,
      resource_class,
      ...(providedGeneration === null ? {} : { resource_provider_generation: providedGeneration }),
    }));
}

export function putInventory(uuid: string): fc.Arbitrary<Body> {
  return fc
    .record({ one: inventory, resource_provider_generation: generation(uuid) })
    .map(({ one, resource_provider_generation }) => ({ ...one, resource_provider_generation }));
}

const resources = fc.dictionary(className, fc.integer({ min: 1, max: 4 }), { minKeys: 1, maxKeys: 2 });

const allocationDict: fc.Arbitrary<Body> = fc.dictionary(
  fc.oneof({ weight: 20, arbitrary: fc.constantFrom(...PROVIDERS) }, { weight: 1, arbitrary: providerUuid }),
  resources.map((each) => ({ resources: each })),
  { minKeys: 0, maxKeys: 2 },
);

const allocationList: fc.Arbitrary<Json> = fc.array(
  fc.record({ resource_provider: fc.record({ uuid: providerUuid }), resources }),
  { maxLength: 3 },
);

/** Generates the body of a consumer's allocations for a microversion. */
export function allocations(consumer: string, minor: number): fc.Arbitrary<Body> {
  if (minor < 8) {
    return fc.record({ allocations: allocationList });
  }
  if (minor < 12) {
    return fc.record({ allocations: allocationList, project_id: ownerId, user_id: ownerId });
  }
  const base = { allocations: allocationDict, project_id: ownerId, user_id: ownerId };
  if (minor < 28) {
    return fc.record(base);
  }
  const guarded = { ...base, consumer_generation: generation(consumer) };
  if (minor < 38) {
    return fc.record(guarded);
  }
  return fc.record({ ...guarded, consumer_type: consumerType });
}

export function reshape(consumers: readonly string[], providers: readonly string[], minor: number): fc.Arbitrary<Body> {
  const bodies = Object.fromEntries(consumers.map((uuid) => [uuid, allocations(uuid, Math.max(minor, 30))]));
  const replaced = Object.fromEntries(providers.map((uuid) => [uuid, putInventories(uuid)]));
  return fc.record({ inventories: fc.record(replaced), allocations: fc.record(bodies) });
}
