import { badRequest, conflict } from "../../http/http-error.js";
import { type Call, type HandlerResponse, NO_CONTENT, readJson } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import type { Schema } from "../http/json-schema.js";
import { type InventoryAmounts, InventoryInUse, NotFound, type Provider } from "../model.js";
import { replaceAllocations, updateConsumer } from "../store/allocation-changes.js";
import { setInventories } from "../store/inventory-changes.js";
import { ensureAll, keepingConsumers, reshapedAllocationsSchema } from "./allocations.js";
import { allocationProblem, type ConsumerBody, requestedAllocations } from "./consumers.js";
import { amountsByClass, PUT_INVENTORIES } from "./inventories.js";
import { schemaFor, UUID_PATTERN } from "./shared-schemas.js";

const SCHEMAS = [30, 34, 38].map((since): readonly [number, Schema] => [
  since,
  {
    type: "object",
    properties: {
      inventories: {
        type: "object",
        patternProperties: { [UUID_PATTERN]: PUT_INVENTORIES },
        minProperties: 1,
        additionalProperties: false,
      },
      allocations: reshapedAllocationsSchema(since),
    },
    required: ["inventories", "allocations"],
    additionalProperties: false,
  },
]);

interface ReshaperBody {
  readonly inventories: Readonly<
    Record<
      string,
      {
        readonly resource_provider_generation: number;
        readonly inventories: Readonly<Record<string, unknown>>;
      }
    >
  >;
  readonly allocations: Readonly<Record<string, ConsumerBody>>;
}

type NewInventories = ReadonlyMap<Provider, ReadonlyMap<string, InventoryAmounts>>;

/** Moves inventories and their allocations between providers in one transaction. */
export function reshape(call: Call): HandlerResponse {
  call.can("placement:reshaper:reshape");
  const body = readJson(call, reshaperSchema(call.minor)) as ReshaperBody;
  const inventories = newInventories(call, body);
  const consumers = ensureAll(call, body.allocations);
  const requested = keepingConsumers(call, () =>
    consumers.flatMap(([{ consumer }, each]) => requestedAllocations(call, consumer, each)),
  );
  try {
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
  } catch (error) {
    if (error instanceof NotFound) {
      throw badRequest(`malformed reshaper data: ${error.message}`);
    }
    if (error instanceof InventoryInUse) {
      throw conflict(`update conflict: ${error.message}`, ErrorCode.inventoryInUse);
    }
    throw allocationProblem(error, "");
  }
  return NO_CONTENT;
}

function current(provider: Provider): [string, InventoryAmounts][] {
  return [...provider.inventories.values()].map(({ resourceClass, amounts }) => [resourceClass.name, amounts]);
}

function newInventories(call: Call, body: ReshaperBody): NewInventories {
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
    try {
      found.set(provider, amountsByClass(call, inventories));
    } catch (error) {
      throw error instanceof NotFound ? badRequest(`malformed reshaper data: ${error.message}`) : error;
    }
  }
  return found;
}

function reshaperSchema(minor: number): Schema {
  return schemaFor(SCHEMAS, minor);
}
