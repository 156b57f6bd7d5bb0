import { badRequest, notFound } from "../../http/http-error.js";
import { isUuidLike, normalizeUuid } from "../../python/uuid.js";
import { type Call, type HandlerResponse, jsonObject, latest, NO_CONTENT, readJson } from "../http/call.js";
import type { Schema } from "../http/json-schema.js";
import type { Allocation, Consumer, Provider } from "../model.js";
import { deleteAllocations, replaceAllocations, updateConsumer } from "../store/allocation-changes.js";
import {
  allocationProblem,
  type ConsumerBody,
  type EnsuredConsumer,
  ensureConsumer,
  requestedAllocations,
} from "./consumers.js";
import { EXTERNAL_ID, GROUP_PATTERN_1_33, RC_PATTERN, schemaFor, UUID, UUID_PATTERN } from "./shared-schemas.js";

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

const PUT = [
  [0, LIST_1_0],
  [8, LIST_1_8],
  [12, DICT_1_12],
  [28, DICT_1_28],
  [34, DICT_1_34],
  [38, DICT_1_38],
] as const;

const POST_SINCE = [
  [13, DICT_1_13],
  [28, DICT_1_28],
  [34, DICT_1_34],
  [38, DICT_1_38],
] as const;

const POST = POST_SINCE.map(([since, sub]): readonly [number, Schema] => [
  since,
  { type: "object", minProperties: 1, additionalProperties: false, patternProperties: { [UUID_PATTERN]: sub } },
]);

/** The schemas of the reshaper, whose allocations may be empty. */
const RESHAPED = POST_SINCE.filter(([since]) => since >= 28).map(([since, sub]): readonly [number, Schema] => [
  since,
  { type: "object", minProperties: 0, additionalProperties: false, patternProperties: { [UUID_PATTERN]: sub } },
]);

export function listConsumerAllocations(call: Call): HandlerResponse {
  call.can("placement:allocations:list");
  const consumer = call.state.consumers.get(call.params[0] ?? "");
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

export function listProviderAllocations(call: Call): HandlerResponse {
  call.can("placement:resource_providers:allocations:list");
  const [uuid = ""] = call.params;
  const owner = call.state.providers.get(uuid);
  if (owner === undefined) {
    throw notFound(`Resource provider '${uuid}' not found: No resource provider with uuid ${uuid} found`);
  }
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

export function putAllocations(call: Call): HandlerResponse {
  call.can("placement:allocations:update");
  const [consumerUuid = ""] = call.params;
  if (!isUuidLike(consumerUuid)) {
    throw badRequest(`Malformed consumer_uuid: ${consumerUuid}`);
  }
  const uuid = normalizeUuid(consumerUuid);
  const data = readJson(call, putAllocationsSchema(call.minor));
  const body = call.minor < 12 ? fromList(data as ListBody) : (data as ConsumerBody);
  const ensured = ensureConsumer(call, uuid, body);
  write(call, [[ensured, body]], `for consumer ${uuid}: `);
  return NO_CONTENT;
}

export function postAllocations(call: Call): HandlerResponse {
  call.can("placement:allocations:manage");
  const data = readJson(call, postAllocationsSchema(call.minor)) as Readonly<Record<string, ConsumerBody>>;
  write(call, ensureAll(call, data), "");
  return NO_CONTENT;
}

/** Ensures that all consumers in a request body exist. */
export function ensureAll(
  call: Call,
  data: Readonly<Record<string, ConsumerBody>>,
): (readonly [EnsuredConsumer, ConsumerBody])[] {
  return Object.entries(data).map(([uuid, body]) => [ensureConsumer(call, uuid, body), body] as const);
}

function write(call: Call, consumers: readonly (readonly [EnsuredConsumer, ConsumerBody])[], subject: string): void {
  const requested = keepingConsumers(call, () =>
    consumers.flatMap(([{ consumer }, body]) => requestedAllocations(call, consumer, body)),
  );
  try {
    for (const [{ consumer, owner }] of consumers) {
      updateConsumer(call, consumer, owner);
    }
    replaceAllocations(call, requested);
  } catch (error) {
    throw allocationProblem(error, subject);
  }
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

export function removeAllocations(call: Call): HandlerResponse {
  call.can("placement:allocations:delete");
  const [uuid = ""] = call.params;
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

function putAllocationsSchema(minor: number): Schema {
  return schemaFor(PUT, minor);
}

function postAllocationsSchema(minor: number): Schema {
  return schemaFor(POST, minor);
}

export function reshapedAllocationsSchema(minor: number): Schema {
  return schemaFor(RESHAPED, minor);
}
