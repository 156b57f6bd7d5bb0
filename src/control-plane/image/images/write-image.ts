import { isConductorError } from "../../../conductor-client/errors.js";
import { isObject } from "../../../runtime/collections.js";
import type { ServiceResponse } from "../../../runtime/http-server.js";
import { badRequest, conflict, forbidden, HttpError } from "../../http/http-error.js";
import { json, withHeaders } from "../../http/responses.js";
import { assertWithinQuota, type ImageCall } from "../api/call.js";
import { findOwnImage, may, requirePolicy, type Target } from "../api/policy.js";
import { type Image, type ImageAttributes, PLAIN } from "../image.js";
import { IMPORT_METHODS, STORE_IDS } from "../stores.js";
import {
  assertNotReserved,
  checkMembers,
  checkQuotas,
  checkTags,
  imageView,
  isAttribute,
  withValue,
} from "./image-attributes.js";

type Operation = (typeof OPERATIONS)[number];

interface Change {
  readonly op: Operation;
  readonly name: string;
  /** Absent for `remove`. */
  readonly value?: unknown;
  /** Whether `add` fails for an existing property, as in the older draft. */
  readonly onlyNew: boolean;
}

const OPERATIONS = ["add", "remove", "replace"] as const;

/** Max changes per request. */
const MAX_CHANGES = 1000;

/** Content types. True marks the older draft, in which the operation is a property's name. */
const DRAFTS: ReadonlyMap<string, boolean> = new Map([
  ["application/openstack-images-v2.0-json-patch", true],
  ["application/openstack-images-v2.1-json-patch", false],
]);

/** Handles POST /v2/images. @throws {HttpError} 400, 403, 409, 413 */
export function createImage(call: ImageCall): ServiceResponse {
  const { store, random, caller, request } = call;
  const body = call.object();
  checkMembers(body);
  const { id: requestedId, ...members } = body;
  const attributes = newImageAttributes(members, { ...PLAIN, owner: caller.projectId });
  mayCreate(call, attributes);
  checkQuotas(attributes);
  assertWithinQuota(call, "image_count_total", caller.projectId, 1);
  const id = requestedId === undefined ? random.uuid() : String(requestedId).toLowerCase();
  try {
    const image = store.table.add(id, attributes);
    return withHeaders(json(201, imageView(image)), {
      location: `${request.baseUrl}/v2/images/${id}`,
      "openstack-image-import-methods": IMPORT_METHODS.join(","),
      "openstack-image-store-ids": STORE_IDS.join(","),
    });
  } catch (error) {
    throw isConductorError(error, "DuplicateRecord") ? taken(id) : error;
  }
}

function newImageAttributes(members: Readonly<Record<string, unknown>>, plain: ImageAttributes): ImageAttributes {
  let attributes = plain;
  for (const [name, value] of Object.entries(members)) {
    assertNotReserved(name);
    if (name === "locations") {
      throw forbidden(`Attribute '${name}' is reserved.`);
    }
    attributes = withValue(attributes, name, value);
  }
  return attributes;
}

function mayCreate({ caller }: ImageCall, { owner, visibility }: ImageAttributes): void {
  const target: Target = { owner, visibility };
  if (!may(caller, "add_image", target) && owner !== caller.projectId) {
    throw forbidden(`You are not permitted to create images owned by '${owner}'.`);
  }
  requirePolicy(caller, "add_image", target);
  checkVisibility(caller, target);
}

/** Rejects a visibility that the caller may not set. @throws {HttpError} 403 */
function checkVisibility(caller: ImageCall["caller"], target: Target): void {
  if (target.visibility === "public") {
    requirePolicy(caller, "publicize_image", target);
  } else if (target.visibility === "community") {
    requirePolicy(caller, "communitize_image", target);
  }
}

const taken = (id: string) => conflict(`Image ID ${id} already exists!`);

/**
 * Handles PATCH /v2/images/{id}: all changes are applied, or none. @throws {HttpError} 400, 403, 404, 409, 413, 415
 */
export function updateImage(call: ImageCall): ServiceResponse {
  const image = findOwnImage(call, "modify_image");
  const { isOld } = draftOf(call.request.headers["content-type"]);
  const changes = readChanges(call.json(), isOld);
  let attributes = attributesOf(image);
  for (const change of changes) {
    attributes = changed(call, image, attributes, change);
  }
  const hasNew = Object.keys(attributes.properties).some((name) => !Object.hasOwn(image.properties, name));
  if (hasNew) {
    checkQuotas(attributes);
  } else {
    checkTags(attributes.tags);
  }
  const { table } = call.store;
  table.change(image.id, [image.status], attributes);
  return json(200, imageView(table.get(image.id) ?? image));
}

function attributesOf(image: Image): ImageAttributes {
  const { name, visibility, protected: isProtected, hidden, diskFormat, containerFormat } = image;
  const { minDisk, minRam, owner, tags, properties } = image;
  return {
    ...{ name, visibility, protected: isProtected, hidden, diskFormat, containerFormat },
    ...{ minDisk, minRam, owner, tags, properties },
  };
}

function changed(call: ImageCall, image: Image, attributes: ImageAttributes, change: Change): ImageAttributes {
  const { op, name, value } = change;
  if (name === "locations") {
    const verb = { add: "add", remove: "remove", replace: "update" }[op];
    throw forbidden(`It's not allowed to ${verb} locations if locations are invisible.`);
  }
  if (op === "remove") {
    return removed(attributes, name);
  }
  const isThere = isAttribute(name) || Object.hasOwn(attributes.properties, name);
  if (op === "replace" && !isThere) {
    throw conflict(`Property ${name} does not exist.`);
  }
  if (op === "add" && isThere && change.onlyNew) {
    throw conflict(`Property ${name} already present.`);
  }
  checkAttribute(call, image, name, value);
  return withValue(attributes, name, value);
}

function removed(attributes: ImageAttributes, name: string): ImageAttributes {
  if (isAttribute(name)) {
    throw forbidden(`Property ${name} may not be removed.`);
  }
  if (!Object.hasOwn(attributes.properties, name)) {
    throw conflict(`Property ${name} does not exist.`);
  }
  const { [name]: _removed, ...properties } = attributes.properties;
  return { ...attributes, properties };
}

function checkAttribute(call: ImageCall, image: Image, name: string, value: unknown): void {
  if (name === "owner" && !call.isAdmin) {
    throw forbidden("Owner can't be updated by non admin.");
  }
  if (name === "visibility") {
    checkVisibility(call.caller, { owner: image.owner, visibility: String(value) });
  }
  if ((name === "disk_format" || name === "container_format") && !["queued", "importing"].includes(image.status)) {
    throw forbidden(`Attribute ${name} can be only replaced for a queued image.`);
  }
}

function draftOf(contentType: string | undefined): { readonly isOld: boolean } {
  const type = (contentType ?? "").split(";")[0]?.trim() ?? "";
  const isOld = DRAFTS.get(type);
  if (isOld === undefined) {
    const headers = { "accept-patch": [...DRAFTS.keys()].join(", ") };
    throw new HttpError(415, `The request media type ${type} is not supported by this server.`, { headers });
  }
  return { isOld };
}

/** Parses the changes of a patch and validates each on its own. @throws {HttpError} 400, 403 */
function readChanges(body: unknown, isOld: boolean): readonly Change[] {
  if (!Array.isArray(body)) {
    throw badRequest("Request body must be a JSON array of operation objects.");
  }
  if (body.length > MAX_CHANGES) {
    throw badRequest(`The request has ${body.length} operations; there may be ${MAX_CHANGES}.`);
  }
  return body.map((raw) => {
    if (!isObject(raw)) {
      throw badRequest("Operations must be JSON objects.");
    }
    return readChange(raw, isOld);
  });
}

function readChange(raw: Readonly<Record<string, unknown>>, isOld: boolean): Change {
  const op = isOld ? oldOperation(raw) : operation(raw);
  const name = nameIn(isOld ? raw[op] : pathOf(raw), op);
  if (op !== "remove" && !("value" in raw)) {
    throw badRequest(`Operation "${op}" requires a member named "value".`);
  }
  assertNotReserved(name);
  if (op === "remove") {
    return { op, name, onlyNew: false };
  }
  if (name !== "locations") {
    checkMembers({ [name]: raw.value });
  }
  return { op, name, value: raw.value, onlyNew: isOld };
}

function operation({ op }: Readonly<Record<string, unknown>>): Operation {
  const known = OPERATIONS.find((each) => each === op);
  if (known) {
    return known;
  }
  const expected = `It must be one of the following: ${OPERATIONS.join(", ")}.`;
  throw badRequest(
    op === undefined || op === null
      ? `Unable to find \`op\` in JSON Schema change. ${expected}`
      : `Invalid operation: \`${String(op)}\`. ${expected}`,
  );
}

function oldOperation(raw: Readonly<Record<string, unknown>>): Operation {
  const [first, second] = OPERATIONS.filter((name) => name in raw);
  if (second) {
    throw badRequest('Operation objects must contain only one member named "add", "remove", or "replace".');
  }
  if (!first) {
    throw badRequest('Operation objects must contain exactly one member named "add", "remove", or "replace".');
  }
  return first;
}

function pathOf(raw: Readonly<Record<string, unknown>>): unknown {
  if (!("path" in raw)) {
    throw badRequest("Unable to find 'path' in JSON Schema change");
  }
  return raw.path;
}

/** Returns the attribute or property at a JSON pointer. Only `locations` allows a second level. */
function nameIn(pointer: unknown, op: Operation): string {
  if (typeof pointer !== "string") {
    throw badRequest(`Pointer \`${String(pointer)}\` is no text.`);
  }
  const wrong = pointerFault(pointer);
  if (wrong) {
    throw badRequest(`Pointer \`${pointer}\` ${wrong}`);
  }
  const parts = pointer
    .replace(/^\/+/, "")
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~").trim());
  const [name = ""] = parts;
  const depth = name === "locations" && op !== "replace" ? 2 : 1;
  if (parts.length !== depth || name === "") {
    throw badRequest(`Invalid JSON pointer for this resource: '/${parts.join("/")}'`);
  }
  return name;
}

function pointerFault(pointer: string): string | undefined {
  if (!pointer.startsWith("/")) {
    return 'does not start with "/".';
  }
  if (/\/\s*?\//.test(pointer.slice(1))) {
    return 'contains adjacent "/".';
  }
  if (pointer.length > 1 && pointer.endsWith("/")) {
    return 'end with "/".';
  }
  if (/~[^01]/.test(pointer) || pointer.endsWith("~")) {
    return 'contains "~" not part of a recognized escape sequence.';
  }
  return undefined;
}
