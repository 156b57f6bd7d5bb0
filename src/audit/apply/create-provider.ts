import { isDeepStrictEqual } from "node:util";
import { detail, type ServiceClient } from "../cloud/service-client.js";
import type { ProviderState } from "../plan/plan.js";
import { asNumber, asString, asStringOrNull } from "../read/fields.js";
import { ALREADY, DONE, type Outcome, rejectedOutcome } from "./outcome.js";
import { readDetails, readInventories } from "./provider-parts.js";

/** Makes a provider with all that it had; one that was made halfway is completed. @throws {CloudError} */
export async function createProvider(placement: ServiceClient, provider: ProviderState): Promise<Outcome> {
  const { uuid, name, parent } = provider;
  const found = await placement.find(`/resource_providers/${uuid}`);
  if (found) {
    const is = { name: asString(found.name), parent: asStringOrNull(found.parent_provider_uuid) };
    if (!isDeepStrictEqual(is, { name, parent })) {
      return rejectedOutcome(`provider ${uuid} is there, as ${is.name}`);
    }
  } else {
    const body = { uuid, name, ...(parent === null ? {} : { parent_provider_uuid: parent }) };
    const response = await placement.request("POST", "/resource_providers", { body });
    if (response.status >= 300) {
      return rejectedOutcome(`Placement answered ${response.status}${detail(response.body)}`);
    }
  }
  const filled = await fill(placement, provider);
  return filled.state === "already" && !found ? DONE : filled;
}

/** Adds what is missing; what is there and differs belongs to another client. */
async function fill(placement: ServiceClient, provider: ProviderState): Promise<Outcome> {
  const { uuid, inventories, traits, aggregates } = provider;
  const [stock, details] = await Promise.all([readInventories(placement, uuid), readDetails(placement, uuid)]);
  const parts = [
    { path: "inventories", is: stock, desired: inventories, body: { inventories } },
    { path: "traits", is: details.traits, desired: traits, body: { traits } },
    { path: "aggregates", is: details.aggregates, desired: aggregates, body: { aggregates } },
  ];
  // An agent that has filled in a provider since knows better.
  const missing = parts.filter(({ is, desired }) => !isDeepStrictEqual(is, desired) && Object.keys(desired).length > 0);
  for (const { path, is, body } of missing) {
    if (Object.keys(is).length > 0) {
      return rejectedOutcome(`the ${path} of provider ${uuid} have changed since`);
    }
    const { generation } = await placement.get(`/resource_providers/${uuid}`);
    const guarded = { resource_provider_generation: asNumber(generation), ...body };
    const response = await placement.request("PUT", `/resource_providers/${uuid}/${path}`, { body: guarded });
    if (response.status >= 300) {
      return rejectedOutcome(`Placement answered ${response.status}${detail(response.body)}`);
    }
  }
  return missing.length === 0 ? ALREADY : DONE;
}
