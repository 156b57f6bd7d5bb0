import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { schemas } from "../../http/schemas.js";
import { pythonPattern } from "../../python/json-schema.js";
import { type Call, type HandlerResponse, latest, NO_CONTENT, type PlacementRoute, route } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { type Trait, translateErrors } from "../model.js";
import { createTrait, deleteTrait, setTraits } from "../store/trait-and-class-changes.js";
import { CUSTOM_PATTERN } from "./shared-schemas.js";

const LIST = schemas([
  0,
  {
    type: "object",
    properties: { name: { type: "string" }, associated: { type: "string" } },
    additionalProperties: false,
  },
]);

const PUT_PROVIDER_TRAITS = schemas<{
  readonly traits: readonly string[];
  readonly resource_provider_generation: number;
}>([
  0,
  {
    type: "object",
    properties: {
      traits: { type: "array", items: { type: "string", minLength: 1, maxLength: 255 } },
      resource_provider_generation: { type: "integer" },
    },
    required: ["traits", "resource_provider_generation"],
    additionalProperties: false,
  },
]);

const OF_PROVIDER = "/resource_providers/:uuid/traits";

const SINCE_1_6 = { since: 6 };

const SINCE_1_6_WITHOUT_JSON: Partial<PlacementRoute> = { since: 6, json: "none" };

export const TRAIT_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/traits", "traits:list", listTraits, SINCE_1_6),
  route("GET", "/traits/:name", "traits:show", showTrait, SINCE_1_6_WITHOUT_JSON),
  route("PUT", "/traits/:name", "traits:update", putTrait, SINCE_1_6_WITHOUT_JSON),
  route("DELETE", "/traits/:name", "traits:delete", removeTrait, SINCE_1_6),
  route("GET", OF_PROVIDER, "resource_providers:traits:list", listProviderTraits, SINCE_1_6),
  route("PUT", OF_PROVIDER, "resource_providers:traits:update", putProviderTraits, SINCE_1_6),
  route("DELETE", OF_PROVIDER, "resource_providers:traits:delete", removeProviderTraits, SINCE_1_6),
];

function putTrait(call: Call): HandlerResponse {
  const name = call.param("name");
  if (name.length > 255 || !pythonPattern(CUSTOM_PATTERN).test(name)) {
    throw badRequest(
      'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"',
    );
  }
  const known = call.state.traits.get(name);
  const trait = known ?? createTrait(call, name);
  return { status: known === undefined ? 201 : 204, location: `/traits/${name}`, modified: trait.createdAt };
}

function showTrait(call: Call): HandlerResponse {
  const { createdAt } = translateErrors(() => call.state.trait(call.param("name")), { TraitNotFound: notFound });
  return { status: 204, modified: createdAt };
}

function removeTrait(call: Call): HandlerResponse {
  translateErrors(() => deleteTrait(call, call.param("name")), {
    TraitNotFound: notFound,
    CannotChangeStandard: badRequest,
    InUse: conflict,
  });
  return NO_CONTENT;
}

function listTraits(call: Call): HandlerResponse {
  call.checkQuery(LIST);
  let found = [...call.state.traits.values()];
  const name = call.query.get("name");
  if (name !== undefined) {
    found = found.filter(nameFilter(name));
  }
  const associated = call.query.get("associated")?.toLowerCase();
  if (associated !== undefined) {
    if (associated !== "true" && associated !== "false") {
      throw badRequest('The query parameter "associated" only accepts "true" or "false"');
    }
    found = found.filter((trait) => trait.providers.size > 0 === (associated === "true"));
  }
  return { body: traitsJson(found), modified: latest(found, call.unit.now) };
}

function nameFilter(text: string): (trait: Trait) => boolean {
  const colon = text.indexOf(":");
  if (colon < 0) {
    throw badRequest(
      `Badly formatted name parameter. Expected name query string parameter in form: ?name=[in|startswith]:[name1,name2|prefix]. Got: "${text}"`,
    );
  }
  const operator = text.slice(0, colon);
  const value = text.slice(colon + 1);
  if (operator === "in") {
    const names = new Set(value.split(","));
    return (trait) => names.has(trait.name);
  }
  if (operator !== "startswith") {
    return () => true;
  }
  return (trait) => beginsLike(trait.name, value);
}

function traitsJson(traits: Iterable<Trait>, generation?: number): string {
  const names = JSON.stringify([...traits].map(({ name }) => name));
  return `{"traits":${names}${generation === undefined ? "" : `,"resource_provider_generation":${generation}`}}`;
}

function listProviderTraits(call: Call): HandlerResponse {
  const owner = call.provider((uuid) => `No resource provider with uuid ${uuid} found: `);
  return { body: traitsJson(owner.traits, owner.generation), modified: latest(owner.traits, call.unit.now) };
}

function putProviderTraits(call: Call): HandlerResponse {
  const body = call.body(PUT_PROVIDER_TRAITS);
  const owner = call.provider();
  if (owner.generation !== body.resource_provider_generation) {
    throw conflict(
      "Resource provider's generation already changed. Please update the generation and try again.",
      ErrorCode.concurrentUpdate,
    );
  }
  const traits = new Set<Trait>();
  const missing = new Set<string>();
  for (const name of body.traits) {
    const trait = call.state.traits.get(name);
    if (trait === undefined) {
      missing.add(name);
    } else {
      traits.add(trait);
    }
  }
  if (missing.size > 0) {
    throw badRequest(`No such trait ${[...missing].join(", ")}`);
  }
  setTraits(call, owner, traits);
  return { body: traitsJson(traits, owner.generation), modified: latest(traits, call.unit.now) };
}

function removeProviderTraits(call: Call): HandlerResponse {
  setTraits(call, call.provider(), new Set());
  return NO_CONTENT;
}

/**
 * Checks for a prefix as SQL's `LIKE '<prefix>%'` does: `_` matches any character, `%` any number of them, and case
 * does not matter.
 * Each further `%` makes the previous matches final, so the time is limited to the length of the prefix times the
 * length of the text.
 * @internal
 */
export function beginsLike(text: string, prefix: string): boolean {
  const characters = text.toLowerCase();
  const pattern = prefix.toLowerCase();
  let at = 0;
  let retryAt = 0;
  let retryNext = -1;
  for (let next = 0; next < pattern.length; ) {
    if (pattern[next] === "%") {
      next += 1;
      retryNext = next;
      retryAt = at;
    } else if (at < characters.length && (pattern[next] === "_" || pattern[next] === characters[at])) {
      next += 1;
      at += 1;
    } else if (retryNext >= 0 && retryAt < characters.length) {
      retryAt += 1;
      at = retryAt;
      next = retryNext;
    } else {
      return false;
    }
  }
  return true;
}
