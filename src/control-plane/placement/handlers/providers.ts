import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { normalizeUuid } from "../../python/uuid.js";
import { type Call, checkQuery, type HandlerResponse, latest, NO_CONTENT, provider, readJson } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import type { Schema } from "../http/json-schema.js";
import {
  type Aggregate,
  hasRoom,
  NotFound,
  ObjectActionError,
  type Provider,
  ResourceClassNotFound,
  TraitNotFound,
} from "../model.js";
import {
  CannotDeleteParent,
  createProvider,
  DuplicateProvider,
  deleteProvider,
  ProviderInUse,
  updateProvider,
} from "../store/provider-changes.js";
import type { State } from "../store/state.js";
import { memberOf, resources, traits } from "./filters.js";
import { fragment, providerJson } from "./provider-json.js";
import { schemaFor, UUID } from "./shared-schemas.js";

const NAME: Schema = { type: "string", maxLength: 200 };

const PARENT: Schema = { anyOf: [UUID, { type: "null" }] };

const POST = [
  [0, bodySchema({ name: NAME, uuid: UUID })],
  [14, bodySchema({ name: NAME, uuid: UUID, parent_provider_uuid: PARENT })],
] as const;

const PUT = [
  [0, bodySchema({ name: NAME })],
  [14, bodySchema({ name: NAME, parent_provider_uuid: PARENT })],
] as const;

const TEXT: Schema = { type: "string" };

const Q_1_0 = { name: TEXT, uuid: UUID };

const Q_1_3 = { ...Q_1_0, member_of: TEXT };

const Q_1_4 = { ...Q_1_3, resources: TEXT };

const Q_1_14 = { ...Q_1_4, in_tree: UUID };

const QUERIES = [
  [0, querySchema(Q_1_0)],
  [3, querySchema(Q_1_3)],
  [4, querySchema(Q_1_4)],
  [14, querySchema(Q_1_14)],
  [18, querySchema({ ...Q_1_14, required: TEXT })],
] as const;

interface ProviderBody {
  readonly name: string;
  readonly uuid?: string;
  readonly parent_provider_uuid?: string | null;
}

export function listProviders(call: Call): HandlerResponse {
  call.can("placement:resource_providers:list");
  const found = findProviders(call);
  const body = ['{"resource_providers":['];
  found.forEach((each, index) => {
    if (index > 0) {
      body.push(",");
    }
    body.push(cachedJson(call, each));
  });
  body.push("]}");
  return { body, modified: latest(found, call.unit.now) };
}

export function showProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:show");
  const found = provider(call, call.params[0] ?? "");
  return { body: cachedJson(call, found), modified: latest([found], call.unit.now) };
}

function cachedJson(call: Call, found: Parameters<typeof providerJson>[0]): string {
  return fragment(found, `p${call.minor}${call.prefix}`, () => providerJson(found, call.prefix, call.minor));
}

export function postProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:create");
  const body = readJson(call, postProviderSchema(call.minor)) as ProviderBody;
  const uuid = body.uuid ? normalizeUuid(body.uuid) : call.random.uuid();
  const { name } = body;
  try {
    const created = createProvider(call, { uuid, name, parentUuid: body.parent_provider_uuid ?? null });
    const location = `/resource_providers/${created.uuid}`;
    if (call.minor < 20) {
      return { status: 201, location };
    }
    return { location, body: providerJson(created, call.prefix, call.minor), modified: call.unit.now };
  } catch (error) {
    if (error instanceof DuplicateProvider) {
      const values = { uuid, name };
      const duplicates = error.columns.map((column) => `${column}: ${values[column]}`).join(", ");
      throw conflict(`Conflicting resource provider ${duplicates} already exists.`, ErrorCode.duplicateName);
    }
    if (error instanceof ObjectActionError) {
      throw badRequest(`Unable to create resource provider "${name}", ${uuid}: ${error.message}`);
    }
    throw error;
  }
}

export function putProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:update");
  const [uuid = ""] = call.params;
  const found = provider(call, uuid);
  const body = readJson(call, putProviderSchema(call.minor)) as ProviderBody;
  const { updatedAt } = found;
  const parentUuid = body.parent_provider_uuid === undefined ? (found.parent?.uuid ?? null) : body.parent_provider_uuid;
  try {
    updateProvider(call, found, { name: body.name, parentUuid, allowReparenting: call.minor >= 37 });
  } catch (error) {
    if (error instanceof DuplicateProvider) {
      throw conflict(`Conflicting resource provider ${body.name} already exists.`, ErrorCode.duplicateName);
    }
    if (error instanceof ObjectActionError) {
      throw badRequest(`Unable to save resource provider ${uuid}: ${error.message}`);
    }
    throw error;
  }
  return { body: providerJson(found, call.prefix, call.minor), modified: updatedAt };
}

export function removeProvider(call: Call): HandlerResponse {
  call.can("placement:resource_providers:delete");
  const [uuid = ""] = call.params;
  try {
    deleteProvider(call, uuid);
  } catch (error) {
    if (error instanceof ProviderInUse) {
      const reason = "Resource provider has allocations.";
      throw conflict(`Unable to delete resource provider ${uuid}: ${reason}`, ErrorCode.providerInUse);
    }
    if (error instanceof CannotDeleteParent) {
      throw conflict(
        `Unable to delete parent resource provider ${uuid}: It has child resource providers.`,
        ErrorCode.cannotDeleteParent,
      );
    }
    if (error instanceof NotFound) {
      throw notFound(`No resource provider with uuid ${uuid} found for delete`);
    }
    throw error;
  }
  return NO_CONTENT;
}

/**
 * Returns the providers that match the query string of GET /resource_providers.
 * @throws {HttpError} 400 if the query is malformed, or names unknown classes or traits.
 */
function findProviders(call: Call): Provider[] {
  const { query, state } = call;
  if (query.entries.length === 0) {
    return [...state.providers.values()];
  }
  checkQuery(call, listProvidersSchema(call.minor));
  if (query.entries.every(([key]) => key === "name" || key === "uuid")) {
    return preselect(call);
  }
  const aggregates = memberOf(call, "");
  const traitFilter = traits(call, "");
  const amounts = query.has("resources") ? resources(query.get("resources") ?? "") : new Map<string, number>();
  try {
    const inTree = query.get("in_tree");
    const root = inTree ? state.providers.get(inTree)?.root : null;
    if (root === undefined) {
      return [];
    }
    // Fast path: each agent reads its own tree periodically, and most trees have a single provider.
    const alone = root !== null && root.children.size === 0 && !query.get("name") && !query.get("uuid");
    let found = alone ? [root] : preselect(call);
    if (root !== null) {
      found = found.filter((each) => each.root === root);
    }
    const required = traitFilter.required.map((any) => [...any].map((name) => state.trait(name)));
    found = found.filter((each) => required.every((any) => any.some((trait) => each.traits.has(trait))));
    if (required.length > 0 && !someProviderHas(required)) {
      return [];
    }
    const forbidden = [...traitFilter.forbidden].map((name) => state.trait(name));
    found = found.filter((each) => !forbidden.some((trait) => each.traits.has(trait)));
    if (aggregates.required.length > 0) {
      const sets = aggregates.required.map((any) => known(state, any));
      if (!membersExist(sets)) {
        return [];
      }
      found = found.filter((each) => sets.every((any) => any.some((aggregate) => each.aggregates.has(aggregate))));
    }
    const excluded = known(state, aggregates.forbidden);
    found = found.filter((each) => !excluded.some((aggregate) => each.aggregates.has(aggregate)));
    for (const [name, amount] of amounts) {
      const resourceClass = state.resourceClass(name);
      found = found.filter((each) => hasRoom(each.inventories.get(resourceClass), amount));
    }
    return found;
  } catch (error) {
    if (error instanceof ResourceClassNotFound) {
      throw badRequest(`Invalid resource class in resources parameter: ${error.message}`);
    }
    if (error instanceof TraitNotFound) {
      throw badRequest(`Invalid trait(s) in "required" parameter: ${error.message}`);
    }
    throw error;
  }
}

/** Filters by name and UUID; an empty value means no filter. */
function preselect({ query, state }: Call): Provider[] {
  const name = query.get("name");
  const uuid = query.get("uuid");
  if (!name && !uuid) {
    return [...state.providers.values()];
  }
  const found = name ? state.providersByName.get(name) : state.providers.get(uuid ?? "");
  return found === undefined || (uuid && found.uuid !== uuid) ? [] : [found];
}

function known(state: State, uuids: Iterable<string>): Aggregate[] {
  return [...uuids].flatMap((uuid) => state.aggregates.get(uuid) ?? []);
}

/** Checks that any provider is in one aggregate of each set. If not, later filters are skipped. */
function membersExist(sets: readonly (readonly Aggregate[])[]): boolean {
  return (sets[0] ?? []).some((first) =>
    [...first.providers].some((each) => sets.every((any) => any.some((aggregate) => each.aggregates.has(aggregate)))),
  );
}

function someProviderHas(required: readonly (readonly { readonly providers: ReadonlySet<Provider> }[])[]): boolean {
  return (required[0] ?? []).some((first) =>
    [...first.providers].some((each) => required.every((any) => any.some((trait) => trait.providers.has(each)))),
  );
}

function bodySchema(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, required: ["name"], additionalProperties: false };
}

function querySchema(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: "object", properties, additionalProperties: false };
}

function postProviderSchema(minor: number): Schema {
  return schemaFor(POST, minor);
}

function putProviderSchema(minor: number): Schema {
  return schemaFor(PUT, minor);
}

function listProvidersSchema(minor: number): Schema {
  return schemaFor(QUERIES, minor);
}
