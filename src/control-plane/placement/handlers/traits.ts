import { badRequest, conflict, notFound } from "../../http/http-error.js";
import { type Call, checkQuery, type HandlerResponse, latest, NO_CONTENT, provider, readJson } from "../http/call.js";
import { ErrorCode } from "../http/errors.js";
import { validatorFor } from "../http/json-schema.js";
import { NotFound, type Trait } from "../model.js";
import { CannotChangeStandard, createTrait, deleteTrait, InUse, setTraits } from "../store/trait-and-class-changes.js";
import { CUSTOM_TRAIT, LIST_TRAITS, PUT_TRAITS } from "./shared-schemas.js";

export function putTrait(call: Call): HandlerResponse {
  call.can("placement:traits:update");
  const [name = ""] = call.params;
  if (!validatorFor(CUSTOM_TRAIT)(name)) {
    throw badRequest(
      'The trait is invalid. A valid trait must be no longer than 255 characters, start with the prefix "CUSTOM_" and use following characters: "A"-"Z", "0"-"9" and "_"',
    );
  }
  const known = call.state.traits.get(name);
  const trait = known ?? createTrait(call, name);
  return { status: known === undefined ? 201 : 204, location: `/traits/${name}`, modified: trait.createdAt };
}

export function showTrait(call: Call): HandlerResponse {
  call.can("placement:traits:show");
  return { status: 204, modified: findTrait(call).createdAt };
}

function findTrait(call: Call): Trait {
  try {
    return call.state.trait(call.params[0] ?? "");
  } catch (error) {
    throw error instanceof NotFound ? notFound(error.message) : error;
  }
}

export function removeTrait(call: Call): HandlerResponse {
  call.can("placement:traits:delete");
  try {
    deleteTrait(call, findTrait(call).name);
  } catch (error) {
    if (error instanceof CannotChangeStandard) {
      throw badRequest(error.message);
    }
    if (error instanceof InUse) {
      throw conflict(error.message);
    }
    throw error;
  }
  return NO_CONTENT;
}

export function listTraits(call: Call): HandlerResponse {
  call.can("placement:traits:list");
  checkQuery(call, LIST_TRAITS);
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

export function listProviderTraits(call: Call): HandlerResponse {
  call.can("placement:resource_providers:traits:list");
  const [uuid = ""] = call.params;
  const owner = call.state.providers.get(uuid);
  if (owner === undefined) {
    throw notFound(`No resource provider with uuid ${uuid} found: No resource provider with uuid ${uuid} found`);
  }
  return { body: traitsJson(owner.traits, owner.generation), modified: latest(owner.traits, call.unit.now) };
}

export function putProviderTraits(call: Call): HandlerResponse {
  call.can("placement:resource_providers:traits:update");
  const body = readJson(call, PUT_TRAITS) as {
    readonly traits: readonly string[];
    readonly resource_provider_generation: number;
  };
  const owner = provider(call, call.params[0] ?? "");
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

export function removeProviderTraits(call: Call): HandlerResponse {
  call.can("placement:resource_providers:traits:delete");
  setTraits(call, provider(call, call.params[0] ?? ""), new Set());
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
