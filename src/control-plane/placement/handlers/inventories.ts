import { badRequest, conflict, type HttpError, notFound } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { reprFloat } from "../../python/repr.js";
import {
  type Call,
  compileBody,
  type HandlerResponse,
  latest,
  NO_CONTENT,
  type PlacementRoute,
  route,
} from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { capacityOf, type InventoryAmounts, PlacementError, type Provider, translateErrors } from "../model.js";
import { addInventory, deleteInventory, setInventories, updateInventory } from "../store/inventory-changes.js";
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

const PUT_INVENTORY = schemas<OneInventoryBody>([
  0,
  {
    type: "object",
    properties: PROPERTIES,
    required: ["total", "resource_provider_generation"],
    additionalProperties: false,
  },
]);

const POST_INVENTORY = schemas<OneInventoryBody>([
  0,
  {
    type: "object",
    properties: { ...PROPERTIES, resource_class: { type: "string", pattern: RC_PATTERN } },
    required: ["total", "resource_class"],
    additionalProperties: false,
  },
]);

/** One entry of a body with several inventories. */
const PUT_INVENTORY_RECORD: Schema = {
  type: "object",
  properties: PROPERTIES,
  required: ["total"],
  additionalProperties: false,
};

/** The body of PUT for all inventories of a provider. */
export const INVENTORIES: Schema = {
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

const PUT_INVENTORIES = schemas<InventoriesBody>([0, INVENTORIES]);

const PATH = "/resource_providers/:uuid/inventories";

const PATH_OF_ONE = `${PATH}/:class`;

export const INVENTORY_ROUTES: readonly PlacementRoute[] = [
  route("GET", PATH, "resource_providers:inventories:list", listInventories),
  route("POST", PATH, "resource_providers:inventories:create", postInventory),
  route("PUT", PATH, "resource_providers:inventories:update", putInventories),
  route("DELETE", PATH, "resource_providers:inventories:delete", removeInventories, { since: 5, earlier: 405 }),
  route("GET", PATH_OF_ONE, "resource_providers:inventories:show", showInventory),
  route("PUT", PATH_OF_ONE, "resource_providers:inventories:update", putInventory),
  route("DELETE", PATH_OF_ONE, "resource_providers:inventories:delete", removeInventory),
];

type InventoryBody = Pick<InventoryAmounts, "total"> & Partial<InventoryAmounts>;

interface OneInventoryBody extends InventoryBody {
  readonly resource_class: string;
  readonly resource_provider_generation: number;
}

export interface InventoriesBody {
  readonly resource_provider_generation: number;
  readonly inventories: Readonly<Record<string, unknown>>;
}

/**
 * Returns the amounts of several inventories by class. The schema checks only entries whose names are valid class
 * names.
 * @throws {PlacementError} ResourceClassNotFound, if an entry has another name.
 */
export function amountsByClass(
  { state: { classes } }: Pick<Call, "state">,
  inventories: Readonly<Record<string, unknown>>,
): Map<string, InventoryAmounts> {
  const amounts = new Map<string, InventoryAmounts>();
  for (const name in inventories) {
    const body = inventories[name];
    if (!classes.has(name) && !compileBody(PUT_INVENTORY_RECORD)(body)) {
      throw new PlacementError("ResourceClassNotFound", `No such resource class ${name}.`);
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
    const relation = call.minor >= 26 ? "greater than" : "greater than or equal to";
    throw new PlacementError(
      "InvalidInventoryCapacity",
      `Invalid inventory for '${name}' on resource provider '${owner.uuid}'. The reserved value is ${relation} total.`,
    );
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

function find(call: Call): Provider {
  return call.provider((uuid) => `No resource provider with uuid ${uuid} found : `);
}

function listInventories(call: Call): HandlerResponse {
  const owner = find(call);
  const body = fragment(owner, "inventories", () => inventoriesJson(owner));
  const modified = owner.inventories.size === 0 ? null : latest(owner.inventories.values(), call.unit.now);
  return { body, modified };
}

function showInventory(call: Call): HandlerResponse {
  const owner = find(call);
  const name = call.param("class");
  const resourceClass = call.state.classes.get(name);
  const inventory = resourceClass === undefined ? undefined : owner.inventories.get(resourceClass);
  if (inventory === undefined) {
    throw notFound(`No inventory of class ${name} for ${owner.uuid}`);
  }
  return { body: inventoryJson(inventory.amounts, owner.generation), modified: latest([inventory], call.unit.now) };
}

function postInventory(call: Call): HandlerResponse {
  const owner = call.provider();
  const body = call.body(POST_INVENTORY);
  const amounts = amountsOf(body);
  const name = body.resource_class;
  const reject = (message: string) =>
    badRequest(`Unable to create inventory for resource provider ${owner.uuid}: ${message}`);
  translateErrors(
    () => {
      checkCapacity(call, owner, name, amounts);
      addInventory(call, owner, name, amounts);
    },
    {
      Duplicate: (message) => conflict(`Update conflict: ${message}`, ErrorCode.concurrentUpdate),
      InvalidInventoryCapacity: reject,
      NotFound: reject,
    },
  );
  return {
    status: 201,
    location: `/resource_providers/${owner.uuid}/inventories/${name}`,
    body: inventoryJson(amounts, owner.generation),
    modified: call.unit.now,
  };
}

function putInventory(call: Call): HandlerResponse {
  const owner = call.provider();
  const body = call.body(PUT_INVENTORY);
  checkGeneration(owner, body.resource_provider_generation);
  const amounts = amountsOf(body);
  const name = call.param("class");
  translateErrors(
    () => {
      checkCapacity(call, owner, name, amounts);
      updateInventory(call, owner, name, amounts);
    },
    {
      InventoryWithResourceClassNotFound: (message) =>
        badRequest(`No inventory record with resource class for resource provider ${owner.uuid}: ${message}`),
      InvalidInventoryCapacity: (message) => capacityProblem(owner, message),
    },
  );
  return { body: inventoryJson(amounts, owner.generation), modified: call.unit.now };
}

function putInventories(call: Call): HandlerResponse {
  const owner = call.provider();
  const body = call.body(PUT_INVENTORIES);
  checkGeneration(owner, body.resource_provider_generation);
  const requested = translateErrors(
    () => {
      const amountsOfClasses = amountsByClass(call, body.inventories);
      for (const [name, amounts] of amountsOfClasses) {
        checkCapacity(call, owner, name, amounts);
      }
      setInventories(call, owner, amountsOfClasses);
      return amountsOfClasses;
    },
    {
      ResourceClassNotFound: (message) =>
        badRequest(`Unknown resource class in inventory for resource provider ${owner.uuid}: ${message}`),
      InventoryInUse: (message) => conflict(`update conflict: ${message}`, ErrorCode.inventoryInUse),
      InvalidInventoryCapacity: (message) => capacityProblem(owner, message),
    },
  );
  return { body: inventoriesJson(owner), modified: requested.size === 0 ? null : call.unit.now };
}

function checkGeneration(owner: Provider, generation: number): void {
  if (generation !== owner.generation) {
    throw conflict("resource provider generation conflict", ErrorCode.concurrentUpdate);
  }
}

function capacityProblem(owner: Provider, message: string): HttpError {
  return badRequest(`Unable to update inventory for resource provider ${owner.uuid}: ${message}`);
}

function removeInventories(call: Call): HandlerResponse {
  translateErrors(() => setInventories(call, call.provider(), new Map()), {
    InventoryInUse: (message) => conflict(message, ErrorCode.inventoryInUse),
  });
  return NO_CONTENT;
}

function removeInventory(call: Call): HandlerResponse {
  const owner = call.provider();
  const name = call.param("class");
  translateErrors(() => deleteInventory(call, owner, name), {
    InventoryInUse: (message) =>
      conflict(`Unable to delete inventory of class ${name}: ${message}`, ErrorCode.concurrentUpdate),
    NotFound: (message) => notFound(`No inventory of class ${name} found for delete: ${message}`),
  });
  return NO_CONTENT;
}
