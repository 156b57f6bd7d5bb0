import type { ServiceResponse } from "../../../runtime/service.js";
import { type ImageCall, NO_CONTENT } from "../api/call.js";
import { notFound } from "../api/fault.js";
import type { Image } from "../images.js";
import { checkMembers, checkTags } from "./attributes.js";
import { findOwnImage } from "./find-image.js";

/** PUT /v2/images/{id}/tags/{tag}. @throws {ImageFault} 400, 403, 404, 413 */
export function addTag(call: ImageCall): ServiceResponse {
  const tag = call.param("tag");
  checkMembers({ tags: [tag] });
  const image = find(call, "update");
  const tags = [...new Set([...image.tags, tag])].sort();
  checkTags(tags);
  call.store.table.change(image.id, [image.status], { tags });
  return NO_CONTENT;
}

/** DELETE /v2/images/{id}/tags/{tag}. @throws {ImageFault} 403, 404 */
export function removeTag(call: ImageCall): ServiceResponse {
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
