import type { ServiceResponse } from "../../../runtime/service.js";
import { json } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { conflict, forbidden } from "../api/fault.js";
import type { Image, ImageAttributes } from "../images.js";
import { checkQuotas, checkTags, isAttribute, withValue } from "./attributes.js";
import { checkVisibility } from "./create-image.js";
import { findOwnImage } from "./find-image.js";
import { imageView } from "./image-view.js";
import { type Change, draftOf, readChanges } from "./json-patch.js";

/** PATCH /v2/images/{id}: all changes, or none. @throws {ImageFault} 400, 403, 404, 409, 413, 415 */
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
