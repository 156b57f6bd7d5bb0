import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { reprFloat } from "../../python/repr.js";
import { type Call, type HandlerResponse, latest, NO_CONTENT, provider, readJson } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { type Schema, validatorFor } from "../http/json-schema.js";
import {
  capacityOf,
  InvalidInventoryCapacity,
  type InventoryAmounts,
  InventoryInUse,
  InventoryWithResourceClassNotFound,
  NotFound,
  type Provider,
  ResourceClassNotFound,
} from "../model.js";
import {
  addInventory,
  DuplicateInventory,
  deleteInventory,
  setInventories,
  updateInventory,
} from "../store/inventory-changes.js";
import { fragment } from "./provider-json.js";
import { MAX_INT, RC_PATTERN } from "./shared-schemas.js";

/** The max value of a single-precision number. */
const MAX_FLOAT = 3.40282e38;

const amount = (minimum: number): Schema => ({ type: "integer", maximum: MAX_INT, minimum });

const PROPERTIES: Readonly<Record<string, Schema>> = {
  resource_provider_generation: { type: "integer" },
  total: amount(1),
  reserved: amount(0),
  min_unit: amount(1),
  max_unit: amount(1),
  step_size: amount(1),
  allocation_ratio: { type: "number", maximum: MAX_FLOAT },
};

const PUT_INVENTORY: Schema = {
  type: "object",
  properties: PROPERTIES,
  required: ["total", "resource_provider_generation"],
  additionalProperties: false,
};

const POST_INVENTORY: Schema = {
  type: "object",
  properties: { ...PROPERTIES, resource_class: { type: "string", pattern: RC_PATTERN } },
  required: ["total", "resource_class"],
  additionalProperties: false,
};

/** One entry of a body with several inventories. */
const PUT_INVENTORY_RECORD: Schema = {
  type: "object",
  properties: PROPERTIES,
  required: ["total"],
  additionalProperties: false,
};

/** The body of PUT for all inventories of a provider. */
export const PUT_INVENTORIES: Schema = {
  type: "object",
  properties: {
    resource_provider_generation: { type: "integer" },
    inventories: {
      type: "object",
      patternProperties: {
        [RC_PATTERN]: PUT_INVENTORY_RECORD,
      },
    },
  },
  required: ["resource_provider_generation", "inventories"],
  additionalProperties: false,
};

type InventoryBody = Pick<InventoryAmounts, "total"> & Partial<InventoryAmounts>;

interface OneInventoryBody extends InventoryBody {
  readonly resource_class: string;
  readonly resource_provider_generation: number;
}

interface InventoriesBody {
  readonly resource_provider_generation: number;
  readonly inventories: Readonly<Record<string, unknown>>;
}

/**
 * Returns the amounts of several inventories by class. The schema checks only entries whose names are valid class
 * names.
 * @throws {ResourceClassNotFound} if an entry has another name.
 */
export function amountsByClass(
  { state: { classes } }: Pick<Call, "state">,
  inventories: Readonly<Record<string, unknown>>,
): Map<string, InventoryAmounts> {
  const amounts = new Map<string, InventoryAmounts>();
  for (const name in inventories) {
    const body = inventories[name];
    if (!classes.has(name) && !validatorFor(PUT_INVENTORY_RECORD)(body)) {
      throw new ResourceClassNotFound(name);
    }
    amounts.set(name, amountsOf(body as InventoryBody));
  }
  return amounts;
}

function amountsOf(body: InventoryBody): InventoryAmounts {
  return {
    total: body.total,
    reserved: body.reserved ?? 0,
    min_unit: body.min_unit ?? 1,
    max_unit: body.max_unit ?? MAX_INT,
    step_size: body.step_size ?? 1,
    allocation_ratio: body.allocation_ratio ?? 1,
  };
}

function checkCapacity(call: Call, owner: Provider, name: string, amounts: InventoryAmounts): void {
  const capacity = Math.trunc(capacityOf(amounts));
  if (call.minor < 26 ? capacity <= 0 : capacity < 0) {
    throw new InvalidInventoryCapacity(name, owner.uuid, call.minor >= 26);
  }
}

function amountsJson(amounts: InventoryAmounts): string {
  return (
    `"total":${amounts.total},"reserved":${amounts.reserved},"min_unit":${amounts.min_unit}` +
    `,"max_unit":${amounts.max_unit},"step_size":${amounts.step_size}` +
    `,"allocation_ratio":${reprFloat(amounts.allocation_ratio)}`
  );
}

/** Renders a single inventory. Omits a generation of 0, as Placement does. */
function inventoryJson(amounts: InventoryAmounts, generation: number): string {
  const tail = generation === 0 ? "" : `,"resource_provider_generation":${generation}`;
  return `{${amountsJson(amounts)}${tail}}`;
}

function inventoriesJson(owner: Provider): string {
  const parts: string[] = [];
  for (const { resourceClass, amounts } of owner.inventories.values()) {
    parts.push(`"${resourceClass.name}":{${amountsJson(amounts)}}`);
  }
  return `{"resource_provider_generation":${owner.generation},"inventories":{${parts.join(",")}}}`;
}

function found(call: Call): Provider {
  const [uuid = ""] = call.params;
  try {
    return provider(call, uuid);
  } catch (error) {
    if (error instanceof NotFound) {
      throw notFound(`No resource provider with uuid ${uuid} found : ${error.message}`);
    }
    throw error;
  }
}

export function listInventories(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:list");
  const owner = found(call);
  const body = fragment(owner, "inventories", () => inventoriesJson(owner));
  const modified = owner.inventories.size === 0 ? null : latest(owner.inventories.values(), call.unit.now);
  return { body, modified };
}

export function showInventory(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:show");
  const owner = found(call);
  const [uuid = "", name = ""] = call.params;
  const resourceClass = call.state.classes.get(name);
  const inventory = resourceClass === undefined ? undefined : owner.inventories.get(resourceClass);
  if (inventory === undefined) {
    throw notFound(`No inventory of class ${name} for ${uuid}`);
  }
  return { body: inventoryJson(inventory.amounts, owner.generation), modified: latest([inventory], call.unit.now) };
}

export function postInventory(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:create");
  const owner = provider(call, call.params[0] ?? "");
  const body = readJson(call, POST_INVENTORY) as OneInventoryBody;
  const amounts = amountsOf(body);
  const name = body.resource_class;
  try {
    checkCapacity(call, owner, name, amounts);
    addInventory(call, owner, name, amounts);
  } catch (error) {
    if (error instanceof DuplicateInventory) {
      throw conflict(`Update conflict: ${error.message}`, ErrorCode.concurrentUpdate);
    }
    if (error instanceof InvalidInventoryCapacity || error instanceof NotFound) {
      throw badRequest(`Unable to create inventory for resource provider ${owner.uuid}: ${error.message}`);
    }
    throw error;
  }
  return {
    status: 201,
    location: `/resource_providers/${owner.uuid}/inventories/${name}`,
    body: inventoryJson(amounts, owner.generation),
    modified: call.unit.now,
  };
}

export function putInventory(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:update");
  const [uuid = "", name = ""] = call.params;
  const owner = provider(call, uuid);
  const body = readJson(call, PUT_INVENTORY) as OneInventoryBody;
  checkGeneration(owner, body.resource_provider_generation);
  const amounts = amountsOf(body);
  try {
    checkCapacity(call, owner, name, amounts);
    updateInventory(call, owner, name, amounts);
  } catch (error) {
    if (error instanceof InventoryWithResourceClassNotFound) {
      throw badRequest(`No inventory record with resource class for resource provider ${owner.uuid}: ${error.message}`);
    }
    throw capacityProblem(owner, error);
  }
  return { body: inventoryJson(amounts, owner.generation), modified: call.unit.now };
}

export function putInventories(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:update");
  const owner = provider(call, call.params[0] ?? "");
  const body = readJson(call, PUT_INVENTORIES) as InventoriesBody;
  checkGeneration(owner, body.resource_provider_generation);
  let requestedInventories: ReadonlyMap<string, InventoryAmounts>;
  try {
    requestedInventories = amountsByClass(call, body.inventories);
    for (const [name, amounts] of requestedInventories) {
      checkCapacity(call, owner, name, amounts);
    }
    setInventories(call, owner, requestedInventories);
  } catch (error) {
    if (error instanceof ResourceClassNotFound) {
      throw badRequest(`Unknown resource class in inventory for resource provider ${owner.uuid}: ${error.message}`);
    }
    if (error instanceof InventoryInUse) {
      throw conflict(`update conflict: ${error.message}`, ErrorCode.inventoryInUse);
    }
    throw capacityProblem(owner, error);
  }
  return { body: inventoriesJson(owner), modified: requestedInventories.size === 0 ? null : call.unit.now };
}

function checkGeneration(owner: Provider, generation: number): void {
  if (generation !== owner.generation) {
    throw conflict("resource provider generation conflict", ErrorCode.concurrentUpdate);
  }
}

function capacityProblem(owner: Provider, error: unknown): unknown {
  return error instanceof InvalidInventoryCapacity
    ? badRequest(`Unable to update inventory for resource provider ${owner.uuid}: ${error.message}`)
    : error;
}

export function removeInventories(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:delete");
  const owner = provider(call, call.params[0] ?? "");
  try {
    setInventories(call, owner, new Map());
  } catch (error) {
    if (error instanceof InventoryInUse) {
      throw conflict(error.message, ErrorCode.inventoryInUse);
    }
    throw error;
  }
  return NO_CONTENT;
}

export function removeInventory(call: Call): HandlerResponse {
  call.can("placement:resource_providers:inventories:delete");
  const [uuid = "", name = ""] = call.params;
  const owner = provider(call, uuid);
  try {
    deleteInventory(call, owner, name);
  } catch (error) {
    if (error instanceof InventoryInUse) {
      throw conflict(`Unable to delete inventory of class ${name}: ${error.message}`, ErrorCode.concurrentUpdate);
    }
    if (error instanceof NotFound) {
      throw notFound(`No inventory of class ${name} found for delete: ${error.message}`);
    }
    throw error;
  }
  return NO_CONTENT;
}
