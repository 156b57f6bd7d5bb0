import { badRequest, conflict } from "../../http/http-error.js";
import { dictOf } from "../../python/json.js";
import { isUuidLike } from "../../python/uuid.js";
import { type Call, type HandlerResponse, latest, NO_CONTENT, readJson } from "../http/call.js";
import { explain } from "../http/json-schema-errors.js";
import type { ResourceClass } from "../model.js";
import {
  CannotChangeStandard,
  createClass,
  deleteClass,
  InUse,
  ResourceClassExists,
  renameClass,
} from "../store/trait-and-class-changes.js";
import { RESOURCE_CLASS } from "./shared-schemas.js";

function classJson(call: Call, { name }: ResourceClass): string {
  return JSON.stringify({ name, links: [{ rel: "self", href: `${call.prefix}/resource_classes/${name}` }] });
}

export function listClasses(call: Call): HandlerResponse {
  call.can("placement:resource_classes:list");
  const classes = [...call.state.classes.values()];
  const body = classes.map((each) => classJson(call, each)).join(",");
  return { body: `{"resource_classes":[${body}]}`, modified: latest(classes, call.unit.now) };
}

export function showClass(call: Call): HandlerResponse {
  call.can("placement:resource_classes:show");
  const found = call.state.resourceClass(call.params[0] ?? "");
  return { body: classJson(call, found), modified: latest([found], call.unit.now) };
}

export function postClass(call: Call): HandlerResponse {
  call.can("placement:resource_classes:create");
  const { name } = readJson(call, RESOURCE_CLASS) as { readonly name: string };
  try {
    createClass(call, name);
  } catch (error) {
    if (error instanceof ResourceClassExists) {
      throw conflict(`Conflicting resource class already exists: ${name}`);
    }
    throw error;
  }
  return { status: 201, location: `/resource_classes/${name}` };
}

export function putClass(call: Call): HandlerResponse {
  return call.minor < 7 ? rename(call) : ensure(call);
}

/** Renames the class: PUT before microversion 1.7. */
function rename(call: Call): HandlerResponse {
  call.can("placement:resource_classes:update");
  const { name } = readJson(call, RESOURCE_CLASS) as { readonly name: string };
  const [former = ""] = call.params;
  const found = call.state.resourceClass(former);
  try {
    renameClass(call, found, name);
  } catch (error) {
    if (error instanceof ResourceClassExists) {
      throw conflict(`Resource class already exists: ${name}`);
    }
    if (error instanceof CannotChangeStandard) {
      throw badRequest(`Cannot update standard resource class ${former}`);
    }
    throw error;
  }
  return { body: classJson(call, found) };
}

/** Creates the class unless it exists: PUT from microversion 1.7 on. */
function ensure(call: Call): HandlerResponse {
  call.can("placement:resource_classes:update");
  const [name = ""] = call.params;
  const problem = explain(RESOURCE_CLASS, dictOf([["name", name]]), isUuidLike);
  if (problem !== undefined) {
    throw badRequest(`JSON does not validate: ${problem}`);
  }
  const known = call.state.classes.has(name);
  if (!known) {
    createClass(call, name);
  }
  return { status: known ? 204 : 201, location: `/resource_classes/${name}` };
}

export function removeClass(call: Call): HandlerResponse {
  call.can("placement:resource_classes:delete");
  const found = call.state.resourceClass(call.params[0] ?? "");
  try {
    deleteClass(call, found);
  } catch (error) {
    const message = error instanceof Error ? `Error in delete resource class: ${error.message}` : "";
    if (error instanceof CannotChangeStandard) {
      throw badRequest(message);
    }
    if (error instanceof InUse) {
      throw conflict(message);
    }
    throw error;
  }
  return NO_CONTENT;
}
