import type { ServiceClient } from "../cloud/service-client.js";
import type { ProviderDetails } from "../plan/edit-providers.js";
import type { Inventories } from "../plan/plan.js";
import { asArray, asString } from "../read/fields.js";
import { inventoriesIn } from "../read/read-placement.js";

/** @throws {CloudError} */
export async function readInventories(placement: ServiceClient, uuid: string): Promise<Inventories> {
  return inventoriesIn(await placement.get(`/resource_providers/${uuid}/inventories`));
}

/** Sorted. @throws {CloudError} */
export async function readDetails(placement: ServiceClient, uuid: string): Promise<ProviderDetails> {
  const [{ traits }, { aggregates }] = await Promise.all([
    placement.get(`/resource_providers/${uuid}/traits`),
    placement.get(`/resource_providers/${uuid}/aggregates`),
  ]);
  return { traits: asArray(traits).map(asString).toSorted(), aggregates: asArray(aggregates).map(asString).toSorted() };
}
