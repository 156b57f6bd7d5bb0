import { hasRoom } from "../candidates/room.js";
import { type Call, checkQuery } from "../http/call.js";
import { badRequest } from "../http/http-error.js";
import { ResourceClassNotFound, TraitNotFound } from "../model/errors.js";
import type { Aggregate, Provider } from "../model/records.js";
import { listProvidersSchema } from "../schemas/provider.js";
import type { State } from "../store/state.js";
import { memberOf, resources, traits } from "./filters.js";

/**
 * The providers that the query string of GET /resource_providers asks for.
 * @throws {HttpError} 400 when it is malformed, or names classes or traits that do not exist.
 */
export function findProviders(call: Call): Provider[] {
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
    // Each agent asks for its own tree in each of its passes, and most trees are one provider among thousands.
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

/** By name and UUID, of which an empty value means none. */
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

/** Whether a provider of any kind is in one aggregate of each set; where none is, later filters are not looked at. */
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
