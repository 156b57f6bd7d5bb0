import { badRequest, conflict, type HttpError } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { type Call, type HandlerResponse, NO_CONTENT, type PlacementRoute, route } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { type InventoryAmounts, type Provider, translateErrors } from "../model.js";
import { replaceAllocations, updateConsumer } from "../store/allocation-changes.js";
import { setInventories } from "../store/inventory-changes.js";
import { ensureAll, keepingConsumers, RESHAPED } from "./allocations.js";
import { allocationErrors, type ConsumerBody, requestedAllocations } from "./consumers.js";
import { amountsByClass, INVENTORIES, type InventoriesBody } from "./inventories.js";
import { UUID_PATTERN } from "./shared-schemas.js";

interface ReshaperBody {
  readonly inventories: Readonly<Record<string, InventoriesBody>>;
  readonly allocations: Readonly<Record<string, ConsumerBody>>;
}

const INVENTORIES_BY_PROVIDER = {
  type: "object",
  patternProperties: { [UUID_PATTERN]: INVENTORIES },
  minProperties: 1,
  additionalProperties: false,
};

const RESHAPE = schemas<ReshaperBody>(
  ...RESHAPED.map(
    ([since, allocations]) =>
      [
        since,
        {
          type: "object",
          properties: { inventories: INVENTORIES_BY_PROVIDER, allocations },
          required: ["inventories", "allocations"],
          additionalProperties: false,
        },
      ] as const,
  ),
);

export const RESHAPER_ROUTES: readonly PlacementRoute[] = [
  route("POST", "/reshaper", "reshaper:reshape", reshape, { since: 30 }),
];

/** Moves inventories and their allocations between providers in one transaction. */
function reshape(call: Call): HandlerResponse {
  const body = call.body(RESHAPE);
  const inventories = newInventories(call, body);
  const consumers = ensureAll(call, body.allocations);
  const requested = keepingConsumers(call, () =>
    consumers.flatMap(([{ consumer }, each]) => requestedAllocations(call, consumer, each)),
  );
  translateErrors(
    () => {
      for (const [{ consumer, owner }] of consumers) {
        updateConsumer(call, consumer, owner);
      }
      // An inventory with allocations cannot be removed, and an allocation needs an inventory. So both old and new
      // inventories exist while the allocations move.
      for (const [provider, amounts] of inventories) {
        if (amounts.size > 0) {
          setInventories(call, provider, new Map([...current(provider), ...amounts]));
        }
      }
      replaceAllocations(call, requested);
      for (const [provider, amounts] of inventories) {
        setInventories(call, provider, amounts);
      }
    },
    {
      ...allocationErrors(""),
      NotFound: malformed,
      InventoryInUse: (message) => conflict(`update conflict: ${message}`, ErrorCode.inventoryInUse),
    },
  );
  return NO_CONTENT;
}

function malformed(message: string): HttpError {
  return badRequest(`malformed reshaper data: ${message}`);
}

function current(provider: Provider): [string, InventoryAmounts][] {
  return [...provider.inventories.values()].map(({ resourceClass, amounts }) => [resourceClass.name, amounts]);
}

function newInventories(call: Call, body: ReshaperBody): ReadonlyMap<Provider, ReadonlyMap<string, InventoryAmounts>> {
  const found = new Map<Provider, ReadonlyMap<string, InventoryAmounts>>();
  for (const [uuid, { resource_provider_generation: expectedGeneration, inventories }] of Object.entries(
    body.inventories,
  )) {
    const provider = call.state.providers.get(uuid);
    if (provider === undefined) {
      throw badRequest(
        `Resource provider ${uuid} in inventories not found: No resource provider with uuid ${uuid} found`,
        ErrorCode.providerNotFound,
      );
    }
    if (expectedGeneration !== provider.generation) {
      throw conflict(
        `resource provider generation conflict for provider ${uuid}: actual: ${provider.generation}, given: ${expectedGeneration}`,
        ErrorCode.concurrentUpdate,
      );
    }
    const amounts = translateErrors(() => amountsByClass(call, inventories), { NotFound: malformed });
    found.set(provider, amounts);
  }
  return found;
}
