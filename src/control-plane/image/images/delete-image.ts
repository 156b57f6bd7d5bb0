import type { ServiceResponse } from "../../../runtime/service.js";
import { type ImageCall, NO_CONTENT } from "../api/call.js";
import { forbidden } from "../api/fault.js";
import { findOwnImage } from "./find-image.js";

const missing = (id: string): string => `Failed to find image ${id} to delete`;

/** DELETE /v2/images/{id}. @throws {ImageFault} 403, 404 */
export function deleteImage(call: ImageCall): ServiceResponse {
  const image = findOwnImage(call, "delete_image", { missing });
  if (image.protected) {
    throw forbidden(`Image ${image.id} is protected and cannot be deleted.`);
  }
  call.store.remove(image.id);
  return NO_CONTENT;
}
