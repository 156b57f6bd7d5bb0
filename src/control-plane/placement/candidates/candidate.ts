import { capacityOf, type Provider, type ResourceClass } from "../model/records.js";
import type { GroupRequest, Part } from "./group-requests.js";

/** One way to serve all groups. */
export interface Candidate {
  /** One of each provider. */
  readonly parts: readonly Part[];
  /** The providers that serve each group. */
  readonly served: readonly GroupRequest[];
}

/** Adds up what the groups take; undefined when that is more than an inventory gives. */
export function combine(requests: readonly GroupRequest[]): Candidate | undefined {
  const sums = new Map<Provider, Map<ResourceClass, number>>();
  for (const { parts } of requests) {
    for (const { provider, resources } of parts) {
      const taken = sums.get(provider) ?? new Map<ResourceClass, number>();
      sums.set(provider, taken);
      for (const [resourceClass, amount] of resources) {
        const total = (taken.get(resourceClass) ?? 0) + amount;
        if (total !== amount && !fits(provider, resourceClass, total)) {
          return undefined;
        }
        taken.set(resourceClass, total);
      }
    }
  }
  const parts = [...sums].map(([provider, taken]) => ({ provider, resources: [...taken] }));
  return { parts, served: requests };
}

function fits(provider: Provider, resourceClass: ResourceClass, amount: number): boolean {
  const inventory = provider.inventories.get(resourceClass);
  if (inventory === undefined) {
    return false;
  }
  return inventory.used + amount <= capacityOf(inventory.amounts) && amount <= inventory.amounts.max_unit;
}

/** Equal for candidates that a client cannot tell apart. */
export function candidateKey({ parts, served }: Candidate): string {
  const taken = parts.flatMap(({ provider, resources }) =>
    resources.map(([resourceClass, amount]) => `${provider.id}/${resourceClass.id}/${amount}`),
  );
  const groups = served.map(({ suffix, providers }) => `${suffix}=${ids(providers)}`);
  return `${taken.sort().join(",")};${groups.sort().join(",")}`;
}

function ids(providers: readonly Provider[]): string {
  return providers
    .map(({ id }) => id)
    .sort((a, b) => a - b)
    .join("+");
}
