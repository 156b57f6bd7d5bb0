import type { Credentials } from "../../credentials.js";
import type { ImageCall } from "../api/call.js";
import { forbidden, notFound } from "../api/fault.js";
import { may, type RuleName, requirePolicy, type Target } from "../api/policy.js";
import type { Image } from "../images.js";

/** Whether a caller may know of an image. @param isMember the image is shared with the caller's project */
export function sees(caller: Credentials, image: Image, isMember: boolean): boolean {
  if (caller.roles.includes("admin")) {
    return true;
  }
  const { owner, visibility } = image;
  const isOpen = owner === null || visibility === "public" || visibility === "community";
  const isMine = caller.projectId !== null && owner === caller.projectId;
  const isShared = visibility === "shared" && isMember;
  return (isOpen || isMine || isShared) && may(caller, "get_image", { ...image, isMember });
}

export interface FoundImage {
  readonly image: Image;
  readonly target: Target;
}

/** The image of the path. @param missing default: as GET words it @throws {ImageFault} 404 */
export function findImage(call: ImageCall, missing?: (id: string) => string): FoundImage {
  const { store, caller } = call;
  const id = call.param("id");
  const image = store.table.get(id);
  const { projectId } = caller;
  const isMember = image !== undefined && projectId !== null && store.members.get(image.id, projectId) !== undefined;
  if (!image || !sees(caller, image, isMember)) {
    throw notFound(missing?.(id) ?? `No image found with ID ${id}`);
  }
  return { image, target: { owner: image.owner, visibility: image.visibility, isMember } };
}

/** The image of the path, for a change of it. @param refusal default: as Glance's policy words it @throws {ImageFault} 403, 404 */
export function findOwnImage(
  call: ImageCall,
  rule: RuleName,
  words: { readonly missing?: (id: string) => string; readonly rejection?: (id: string) => string } = {},
): Image {
  const { image, target } = findImage(call, words.missing);
  if (words.rejection && !may(call.caller, rule, target)) {
    throw forbidden(words.rejection(image.id));
  }
  requirePolicy(call.caller, rule, target);
  return image;
}
