import { badRequest, notFound } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { isUuidLike, normalizeUuid } from "../../python/uuid.js";
import {
  type Call,
  type HandlerResponse,
  jsonObject,
  latest,
  NO_CONTENT,
  type PlacementRoute,
  route,
} from "../http/call.js";
import { type Allocation, type Consumer, type Provider, translateErrors } from "../model.js";
import { deleteAllocations, replaceAllocations, updateConsumer } from "../store/allocation-changes.js";
import {
  allocationErrors,
  type ConsumerBody,
  type EnsuredConsumer,
  ensureConsumer,
  requestedAllocations,
} from "./consumers.js";
import { EXTERNAL_ID, GROUP_PATTERN_1_33, RC_PATTERN, UUID, UUID_PATTERN } from "./shared-schemas.js";

const RESOURCES: Schema = {
  type: "object",
  minProperties: 1,
  patternProperties: { [RC_PATTERN]: { type: "integer", minimum: 1 } },
  additionalProperties: false,
};

const LIST: Schema = {
  type: "array",
  minItems: 1,
  items: {
    type: "object",
    properties: {
      resource_provider: {
        type: "object",
        properties: { uuid: UUID },
        additionalProperties: false,
        required: ["uuid"],
      },
      resources: RESOURCES,
    },
    required: ["resource_provider", "resources"],
    additionalProperties: false,
  },
};

const OWNER = { project_id: EXTERNAL_ID, user_id: EXTERNAL_ID };

const OWNED = ["allocations", "project_id", "user_id"];

const GENERATION: Schema = { type: ["integer", "null"], additionalProperties: false };

const MAPPINGS: Schema = {
  type: "object",
  minProperties: 1,
  patternProperties: { [GROUP_PATTERN_1_33]: { type: "array", minItems: 1, items: UUID } },
};

const CONSUMER_TYPE: Schema = { type: "string", pattern: RC_PATTERN, minLength: 1, maxLength: 255 };

const LIST_1_0: Schema = {
  type: "object",
  properties: { allocations: LIST },
  required: ["allocations"],
  additionalProperties: false,
};

const LIST_1_8: Schema = {
  type: "object",
  properties: { allocations: LIST, ...OWNER },
  required: OWNED,
  additionalProperties: false,
};

const DICT_1_12 = consumerSchema(1, {}, []);

/** The body of POST for one consumer; its allocations may be empty. */
const DICT_1_13 = consumerSchema(0, {}, []);

const DICT_1_28 = consumerSchema(0, { consumer_generation: GENERATION }, ["consumer_generation"]);

const DICT_1_34 = consumerSchema(0, { consumer_generation: GENERATION, mappings: MAPPINGS }, ["consumer_generation"]);

const DICT_1_38 = consumerSchema(
  0,
  { consumer_generation: GENERATION, mappings: MAPPINGS, consumer_type: CONSUMER_TYPE },
  ["consumer_generation", "consumer_type"],
);

const PUT_LIST = schemas<ListBody>([0, LIST_1_0], [8, LIST_1_8]);

const PUT = schemas<ConsumerBody>([12, DICT_1_12], [28, DICT_1_28], [34, DICT_1_34], [38, DICT_1_38]);

const POST_SINCE = [
  [13, DICT_1_13],
  [28, DICT_1_28],
  [34, DICT_1_34],
  [38, DICT_1_38],
] as const;

/** Bodies of several consumers, by their UUID. */
type ConsumersBody = Readonly<Record<string, ConsumerBody>>;

const POST = schemas<ConsumersBody>(...POST_SINCE.map(([since, sub]) => [since, consumersSchema(sub, 1)] as const));

/** The allocations of a reshape, which may be empty, by microversion. */
export const RESHAPED = POST_SINCE.slice(1).map(
  ([since, sub]) => [since === 28 ? 30 : since, consumersSchema(sub, 0)] as const,
);

function consumersSchema(consumer: Schema, minProperties: number): Schema {
  return {
    type: "object",
    minProperties,
    additionalProperties: false,
    patternProperties: { [UUID_PATTERN]: consumer },
  };
}

export const ALLOCATION_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/resource_providers/:uuid/allocations", "resource_providers:allocations:list", listProviderAllocations),
  route("POST", "/allocations", "allocations:manage", postAllocations, { since: 13 }),
  route("GET", "/allocations/:uuid", "allocations:list", listConsumerAllocations),
  route("PUT", "/allocations/:uuid", "allocations:update", putAllocations),
  route("DELETE", "/allocations/:uuid", "allocations:delete", removeAllocations),
];

function listConsumerAllocations(call: Call): HandlerResponse {
  const consumer = call.state.consumers.get(call.param("uuid"));
  const allocations = consumer?.allocations ?? [];
  const byProvider = new Map<Provider, [string, string][]>();
  for (const { inventory, used } of allocations) {
    append(byProvider, inventory.provider, [inventory.resourceClass.name, String(used)]);
  }
  const members = [...byProvider].map(([provider, resources]): [string, string] => [
    provider.uuid,
    `{"resources":${jsonObject(resources)},"generation":${provider.generation}}`,
  ]);
  const owner = consumer === undefined || allocations.length === 0 ? "" : ownerJson(call.minor, consumer);
  return { body: `{"allocations":${jsonObject(members)}${owner}}`, modified: latest(allocations, call.unit.now) };
}

function ownerJson(minor: number, consumer: Consumer): string {
  if (minor < 12) {
    return "";
  }
  const project = JSON.stringify(consumer.project.externalId);
  let json = `,"project_id":${project},"user_id":${JSON.stringify(consumer.user.externalId)}`;
  if (minor >= 28) {
    json += `,"consumer_generation":${consumer.generation}`;
  }
  if (minor >= 38) {
    json += `,"consumer_type":"${consumer.type?.name ?? "unknown"}"`;
  }
  return json;
}

function listProviderAllocations(call: Call): HandlerResponse {
  const owner = call.provider((uuid) => `Resource provider '${uuid}' not found: `);
  const all: Allocation[] = [];
  const members = [...owner.consumers].map((consumer): [string, string] => {
    const own = consumer.allocations.filter(({ inventory }) => inventory.provider === owner);
    all.push(...own);
    const resources = own.map(({ inventory, used }): [string, string] => [inventory.resourceClass.name, String(used)]);
    const generation = call.minor >= 28 ? `,"consumer_generation":${consumer.generation}` : "";
    return [consumer.uuid, `{"resources":${jsonObject(resources)}${generation}}`];
  });
  const body = `{"allocations":${jsonObject(members)},"resource_provider_generation":${owner.generation}}`;
  return { body, modified: latest(all, call.unit.now) };
}

function append<K, V>(groups: Map<K, V[]>, key: K, value: V): void {
  const group = groups.get(key);
  if (group === undefined) {
    groups.set(key, [value]);
  } else {
    group.push(value);
  }
}

function putAllocations(call: Call): HandlerResponse {
  const consumerUuid = call.param("uuid");
  if (!isUuidLike(consumerUuid)) {
    throw badRequest(`Malformed consumer_uuid: ${consumerUuid}`);
  }
  const uuid = normalizeUuid(consumerUuid);
  const body = call.minor < 12 ? fromList(call.body(PUT_LIST)) : call.body(PUT);
  const ensured = ensureConsumer(call, uuid, body);
  write(call, [[ensured, body]], `for consumer ${uuid}: `);
  return NO_CONTENT;
}

function postAllocations(call: Call): HandlerResponse {
  write(call, ensureAll(call, call.body(POST)), "");
  return NO_CONTENT;
}

/** Ensures that all consumers in a request body exist. */
export function ensureAll(call: Call, data: ConsumersBody): (readonly [EnsuredConsumer, ConsumerBody])[] {
  return Object.entries(data).map(([uuid, body]) => [ensureConsumer(call, uuid, body), body] as const);
}

function write(call: Call, consumers: readonly (readonly [EnsuredConsumer, ConsumerBody])[], subject: string): void {
  const requested = keepingConsumers(call, () =>
    consumers.flatMap(([{ consumer }, body]) => requestedAllocations(call, consumer, body)),
  );
  translateErrors(() => {
    for (const [{ consumer, owner }] of consumers) {
      updateConsumer(call, consumer, owner);
    }
    replaceAllocations(call, requested);
  }, allocationErrors(subject));
}

/**
 * Runs the part of a request after its consumers are created and before allocations are written; commits the consumers
 * if it fails.
 * Placement does the same: if a provider does not exist, the new consumers remain, at generation 0. Clients notice a
 * generation conflict when they retry.
 */
export function keepingConsumers<T>(call: Call, work: () => T): T {
  try {
    return work();
  } catch (error) {
    call.unit.commit();
    throw error;
  }
}

interface ListBody extends Omit<ConsumerBody, "allocations"> {
  readonly allocations: readonly {
    readonly resource_provider: { readonly uuid: string };
    readonly resources: Readonly<Record<string, number>>;
  }[];
}

/**
 * Converts the list form of allocations, used before microversion 1.12. Of two entries for one provider, the last
 * applies.
 */
function fromList(body: ListBody): ConsumerBody {
  const entries = body.allocations.map(({ resource_provider, resources }) => [resource_provider.uuid, { resources }]);
  return { ...body, allocations: Object.fromEntries(entries) };
}

function removeAllocations(call: Call): HandlerResponse {
  const uuid = call.param("uuid");
  const consumer = call.state.consumers.get(uuid);
  if (consumer === undefined || consumer.allocations.length === 0) {
    throw notFound(`No allocations for consumer '${uuid}'`);
  }
  deleteAllocations(call, consumer);
  return NO_CONTENT;
}

function dict(minProperties: number): Schema {
  return {
    type: "object",
    minProperties,
    patternProperties: {
      [UUID_PATTERN]: {
        type: "object",
        properties: { generation: { type: "integer" }, resources: RESOURCES },
        required: ["resources"],
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  };
}

function consumerSchema(
  minProperties: number,
  properties: Readonly<Record<string, Schema>>,
  required: string[],
): Schema {
  return {
    type: "object",
    properties: { allocations: dict(minProperties), ...OWNER, ...properties },
    additionalProperties: false,
    required: [...OWNED, ...required],
  };
}
