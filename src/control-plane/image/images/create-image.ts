import { DuplicateRecord } from "../../../conductor-client/errors.js";
import type { ServiceResponse } from "../../../runtime/service.js";
import { json, withHeaders } from "../../http/responses.js";
import type { ImageCall } from "../api/call.js";
import { conflict, forbidden } from "../api/fault.js";
import { may, requirePolicy, type Target } from "../api/policy.js";
import { IMPORT_METHODS } from "../data/import-methods.js";
import { type ImageAttributes, PLAIN } from "../images.js";
import { assertWithinQuota } from "../quotas.js";
import { STORE_IDS } from "../stores.js";
import { assertNotReserved, checkMembers, checkQuotas, withValue } from "./attributes.js";
import { imageView } from "./image-view.js";

/** POST /v2/images. @throws {ImageFault} 400, 403, 409, 413 */
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
    throw error instanceof DuplicateRecord ? taken(id) : error;
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

/** Refuses a visibility that others see to callers who may not give it. @throws {ImageFault} 403 */
export function checkVisibility(caller: ImageCall["caller"], target: Target): void {
  if (target.visibility === "public") {
    requirePolicy(caller, "publicize_image", target);
  } else if (target.visibility === "community") {
    requirePolicy(caller, "communitize_image", target);
  }
}

const taken = (id: string) => conflict(`Image ID ${id} already exists!`);
