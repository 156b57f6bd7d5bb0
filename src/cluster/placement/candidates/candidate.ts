import { capacityOf, type Provider, type ResourceClass } from "../model/records.js";
import type { GroupRequest } from "./group-requests.js";

/** One way to serve all groups. */
export interface Candidate {
  readonly allocations: ReadonlyMap<Provider, ReadonlyMap<ResourceClass, number>>;
  /** The providers that serve each group, by its suffix. */
  readonly mappings: readonly (readonly [suffix: string, providers: readonly Provider[]])[];
}

/** Adds up what the groups take; undefined when that is more than an inventory gives. */
export function combine(requests: readonly GroupRequest[]): Candidate | undefined {
  const allocations = new Map<Provider, Map<ResourceClass, number>>();
  for (const { parts } of requests) {
    for (const { provider, resourceClass, amount } of parts) {
      let taken = allocations.get(provider);
      if (taken === undefined) {
        taken = new Map();
        allocations.set(provider, taken);
      }
      const total = (taken.get(resourceClass) ?? 0) + amount;
      if (total !== amount && !fits(provider, resourceClass, total)) return undefined;
      taken.set(resourceClass, total);
    }
  }
  return { allocations, mappings: requests.map(({ suffix, providers }) => [suffix, providers]) };
}

function fits(provider: Provider, resourceClass: ResourceClass, amount: number): boolean {
  const inventory = provider.inventories.get(resourceClass);
  if (inventory === undefined) return false;
  return inventory.used + amount <= capacityOf(inventory.amounts) && amount <= inventory.amounts.max_unit;
}

/** Equal for candidates that a client cannot tell apart. */
export function candidateKey({ allocations, mappings }: Candidate): string {
  const taken = [...allocations].flatMap(([provider, resources]) =>
    [...resources].map(([resourceClass, amount]) => `${provider.id}/${resourceClass.id}/${amount}`),
  );
  const served = mappings.map(([suffix, providers]) => `${suffix}=${ids(providers)}`);
  return `${taken.sort().join(",")};${served.sort().join(",")}`;
}

function ids(providers: readonly Provider[]): string {
  return providers
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join("+");
}
