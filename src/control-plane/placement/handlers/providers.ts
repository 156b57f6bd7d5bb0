import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { normalizeUuid } from "../../python/uuid.js";
import { type Call, type HandlerResponse, latest, NO_CONTENT, type PlacementRoute, route } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { type Aggregate, hasRoom, type Provider, translateErrors } from "../model.js";
import { createProvider, deleteProvider, updateProvider } from "../store/provider-changes.js";
import type { State } from "../store/state.js";
import { memberOf, resources, traits } from "./filters.js";
import { fragment, providerJson } from "./provider-json.js";
import { UUID } from "./shared-schemas.js";

const NAME: Schema = { type: "string", maxLength: 200 };

const PARENT: Schema = { anyOf: [UUID, { type: "null" }] };

const POST = schemas<ProviderBody>(
  [0, bodySchema({ name: NAME, uuid: UUID })],
  [14, bodySchema({ name: NAME, uuid: UUID, parent_provider_uuid: PARENT })],
);

const PUT = schemas<ProviderBody>(
  [0, bodySchema({ name: NAME })],
  [14, bodySchema({ name: NAME, parent_provider_uuid: PARENT })],
);

const TEXT: Schema = { type: "string" };

const Q_1_0 = { name: TEXT, uuid: UUID };

const Q_1_3 = { ...Q_1_0, member_of: TEXT };

const Q_1_4 = { ...Q_1_3, resources: TEXT };

const Q_1_14 = { ...Q_1_4, in_tree: UUID };

const QUERY = schemas(
  [0, querySchema(Q_1_0)],
  [3, querySchema(Q_1_3)],
  [4, querySchema(Q_1_4)],
  [14, querySchema(Q_1_14)],
  [18, querySchema({ ...Q_1_14, required: TEXT })],
);

export const PROVIDER_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/resource_providers", "resource_providers:list", listProviders),
  route("POST", "/resource_providers", "resource_providers:create", postProvider),
  route("GET", "/resource_providers/:uuid", "resource_providers:show", showProvider),
  route("DELETE", "/resource_providers/:uuid", "resource_providers:delete", removeProvider),
  route("PUT", "/resource_providers/:uuid", "resource_providers:update", putProvider),
];

interface ProviderBody {
  readonly name: string;
  readonly uuid?: string;
  readonly parent_provider_uuid?: string | null;
}

function listProviders(call: Call): HandlerResponse {
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

function showProvider(call: Call): HandlerResponse {
  const found = call.provider();
  return { body: cachedJson(call, found), modified: latest([found], call.unit.now) };
}

function cachedJson(call: Call, found: Provider): string {
  return fragment(found, `p${call.minor}${call.prefix}`, () => providerJson(found, call.prefix, call.minor));
}

function postProvider(call: Call): HandlerResponse {
  const body = call.body(POST);
  const uuid = body.uuid ? normalizeUuid(body.uuid) : call.random.uuid();
  const { name, parent_provider_uuid: parentUuid = null } = body;
  const created = translateErrors(() => createProvider(call, { uuid, name, parentUuid }), {
    Duplicate: (column) => {
      const duplicate = `${column}: ${column === "uuid" ? uuid : name}`;
      return conflict(`Conflicting resource provider ${duplicate} already exists.`, ErrorCode.duplicateName);
    },
    ObjectActionError: (message) => badRequest(`Unable to create resource provider "${name}", ${uuid}: ${message}`),
  });
  const location = `/resource_providers/${created.uuid}`;
  return call.minor < 20
    ? { status: 201, location }
    : { location, body: providerJson(created, call.prefix, call.minor), modified: call.unit.now };
}

function putProvider(call: Call): HandlerResponse {
  const found = call.provider();
  const { name, parent_provider_uuid: parentUuid = found.parent?.uuid ?? null } = call.body(PUT);
  const { updatedAt } = found;
  translateErrors(() => updateProvider(call, found, { name, parentUuid, allowReparenting: call.minor >= 37 }), {
    Duplicate: () => conflict(`Conflicting resource provider ${name} already exists.`, ErrorCode.duplicateName),
    ObjectActionError: (message) => badRequest(`Unable to save resource provider ${found.uuid}: ${message}`),
  });
  return { body: providerJson(found, call.prefix, call.minor), modified: updatedAt };
}

function removeProvider(call: Call): HandlerResponse {
  const uuid = call.param("uuid");
  translateErrors(() => deleteProvider(call, uuid), {
    InUse: () =>
      conflict(
        `Unable to delete resource provider ${uuid}: Resource provider has allocations.`,
        ErrorCode.providerInUse,
      ),
    CannotDeleteParent: () =>
      conflict(
        `Unable to delete parent resource provider ${uuid}: It has child resource providers.`,
        ErrorCode.cannotDeleteParent,
      ),
    NotFound: () => notFound(`No resource provider with uuid ${uuid} found for delete`),
  });
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
  call.checkQuery(QUERY);
  if (query.entries.every(([key]) => key === "name" || key === "uuid")) {
    return preselect(call);
  }
  return translateErrors(() => filterProviders(call), {
    ResourceClassNotFound: (message) => badRequest(`Invalid resource class in resources parameter: ${message}`),
    TraitNotFound: (message) => badRequest(`Invalid trait(s) in "required" parameter: ${message}`),
  });
}

function filterProviders(call: Call): Provider[] {
  const { query, state } = call;
  const aggregates = memberOf(call, "");
  const traitFilter = traits(call, "");
  const amounts = query.has("resources") ? resources(query.get("resources") ?? "") : new Map<string, number>();
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
