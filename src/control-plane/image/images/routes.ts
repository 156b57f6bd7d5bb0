import type { ServiceResponse } from "../../../runtime/http-server.js";
import { forbidden, notFound } from "../../http/http-error.js";
import { json } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type ImageCall, type ImageRoute, NO_CONTENT } from "../api/call.js";
import { findImage, findOwnImage } from "../api/policy.js";
import type { Image } from "../image.js";
import { checkMembers, checkTags, imageView } from "./image-attributes.js";
import { listImages } from "./list-images.js";
import { createImage, updateImage } from "./write-image.js";

const missing = (id: string): string => `Failed to find image ${id} to delete`;

/** Routes of images' records. */
export const IMAGE_ROUTES = routes<ImageRoute>({
  "GET /v2/images": listImages,
  "POST /v2/images": createImage,
  "GET /v2/images/:id": (call) => json(200, imageView(findImage(call).image)),
  "PATCH /v2/images/:id": updateImage,
  "DELETE /v2/images/:id": deleteImage,
  "POST /v2/images/:id/actions/deactivate": deactivate,
  "POST /v2/images/:id/actions/reactivate": reactivate,
  "PUT /v2/images/:id/tags/:tag": addTag,
  "DELETE /v2/images/:id/tags/:tag": removeTag,
});

/** Handles POST /v2/images/{id}/actions/deactivate. @throws {HttpError} 403, 404 */
function deactivate(call: ImageCall): ServiceResponse {
  return turn(call, "deactivate", "active", "deactivated");
}

/** Handles POST /v2/images/{id}/actions/reactivate. @throws {HttpError} 403, 404 */
function reactivate(call: ImageCall): ServiceResponse {
  return turn(call, "reactivate", "deactivated", "active");
}

function turn(
  call: ImageCall,
  action: "deactivate" | "reactivate",
  from: "active" | "deactivated",
  to: "active" | "deactivated",
): ServiceResponse {
  const { id, status } = findOwnImage(call, action);
  if (status !== from && status !== to) {
    throw forbidden(`Not allowed to ${action} image in status '${status}'`);
  }
  call.store.table.change(id, [from], { status: to });
  return NO_CONTENT;
}

/** Handles DELETE /v2/images/{id}. @throws {HttpError} 403, 404 */
function deleteImage(call: ImageCall): ServiceResponse {
  const image = findOwnImage(call, "delete_image", { missing });
  if (image.protected) {
    throw forbidden(`Image ${image.id} is protected and cannot be deleted.`);
  }
  call.store.remove(image.id);
  return NO_CONTENT;
}

/** Handles PUT /v2/images/{id}/tags/{tag}. @throws {HttpError} 400, 403, 404, 413 */
function addTag(call: ImageCall): ServiceResponse {
  const tag = call.param("tag");
  checkMembers({ tags: [tag] });
  const image = find(call, "update");
  const tags = [...new Set([...image.tags, tag])].sort();
  checkTags(tags);
  call.store.table.change(image.id, [image.status], { tags });
  return NO_CONTENT;
}

/** Handles DELETE /v2/images/{id}/tags/{tag}. @throws {HttpError} 403, 404 */
function removeTag(call: ImageCall): ServiceResponse {
  const tag = call.param("tag");
  const image = find(call, "delete");
  if (!image.tags.includes(tag)) {
    throw notFound();
  }
  call.store.table.change(image.id, [image.status], { tags: image.tags.filter((each) => each !== tag) });
  return NO_CONTENT;
}

function find(call: ImageCall, what: "update" | "delete"): Image {
  return findOwnImage(call, "modify_image", {
    missing: (id) => `Image ${id} not found.`,
    rejection: (id) => `Not allowed to ${what} tags for image ${id}.`,
  });
}
