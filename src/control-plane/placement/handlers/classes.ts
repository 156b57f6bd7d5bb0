import { badRequest, conflict } from "../../http/http-error.js";
import { type Schema, schemas } from "../../http/schemas.js";
import { dictOf } from "../../python/json.js";
import { isUuidLike } from "../../python/uuid.js";
import { type Call, type HandlerResponse, latest, NO_CONTENT, type PlacementRoute, route } from "../http/call.js";
import { explain } from "../http/json-schema-errors.js";
import { type ResourceClass, translateErrors } from "../model.js";
import { createClass, deleteClass, renameClass } from "../store/trait-and-class-changes.js";
import { CUSTOM_PATTERN } from "./shared-schemas.js";

const SCHEMA: Schema = {
  type: "object",
  properties: { name: { type: "string", pattern: CUSTOM_PATTERN, maxLength: 255 } },
  required: ["name"],
  additionalProperties: false,
};

const RESOURCE_CLASS = schemas<{ readonly name: string }>([0, SCHEMA]);

const SINCE_1_2 = { since: 2 };

export const CLASS_ROUTES: readonly PlacementRoute[] = [
  route("GET", "/resource_classes", "resource_classes:list", listClasses, SINCE_1_2),
  route("POST", "/resource_classes", "resource_classes:create", postClass, SINCE_1_2),
  route("GET", "/resource_classes/:name", "resource_classes:show", showClass, SINCE_1_2),
  route("PUT", "/resource_classes/:name", "resource_classes:update", putClass, { since: 2, jsonUntil: 7 }),
  route("DELETE", "/resource_classes/:name", "resource_classes:delete", removeClass, SINCE_1_2),
];

function classJson(call: Call, { name }: ResourceClass): string {
  return JSON.stringify({ name, links: [{ rel: "self", href: `${call.prefix}/resource_classes/${name}` }] });
}

function listClasses(call: Call): HandlerResponse {
  const classes = [...call.state.classes.values()];
  const body = classes.map((each) => classJson(call, each)).join(",");
  return { body: `{"resource_classes":[${body}]}`, modified: latest(classes, call.unit.now) };
}

function showClass(call: Call): HandlerResponse {
  const found = call.state.resourceClass(call.param("name"));
  return { body: classJson(call, found), modified: latest([found], call.unit.now) };
}

function postClass(call: Call): HandlerResponse {
  const { name } = call.body(RESOURCE_CLASS);
  translateErrors(() => createClass(call, name), {
    Duplicate: () => conflict(`Conflicting resource class already exists: ${name}`),
  });
  return { status: 201, location: `/resource_classes/${name}` };
}

function putClass(call: Call): HandlerResponse {
  return call.minor < 7 ? rename(call) : ensure(call);
}

/** Renames the class: PUT before microversion 1.7. */
function rename(call: Call): HandlerResponse {
  const { name } = call.body(RESOURCE_CLASS);
  const found = call.state.resourceClass(call.param("name"));
  const former = found.name;
  translateErrors(() => renameClass(call, found, name), {
    Duplicate: () => conflict(`Resource class already exists: ${name}`),
    CannotChangeStandard: () => badRequest(`Cannot update standard resource class ${former}`),
  });
  return { body: classJson(call, found) };
}

/** Creates the class unless it exists: PUT from microversion 1.7 on. */
function ensure(call: Call): HandlerResponse {
  const name = call.param("name");
  const problem = explain(SCHEMA, dictOf([["name", name]]), isUuidLike);
  if (problem !== undefined) {
    throw badRequest(`JSON does not validate: ${problem}`);
  }
  const known = call.state.classes.has(name);
  if (!known) {
    createClass(call, name);
  }
  return { status: known ? 204 : 201, location: `/resource_classes/${name}` };
}

function removeClass(call: Call): HandlerResponse {
  const found = call.state.resourceClass(call.param("name"));
  translateErrors(() => deleteClass(call, found), {
    CannotChangeStandard: (message) => badRequest(`Error in delete resource class: ${message}`),
    InUse: (message) => conflict(`Error in delete resource class: ${message}`),
  });
  return NO_CONTENT;
}
