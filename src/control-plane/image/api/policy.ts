import type { Credentials } from "../../credentials.js";
import { forbidden, notFound } from "../../http/http-error.js";
import { createPolicy } from "../../policy/policy.js";
import type { Image } from "../image.js";
import type { ImageCall } from "./call.js";

const ADMIN = "role:admin";

const READER = "(role:reader or role:member)";

const OWNED = "project_id:%(owner)s";

const SHARED_WITH_CALLER = "True:%(is_member)s";

const OWNER = `${ADMIN} or (role:member and ${OWNED})`;

const OWNER_OR_MEMBER = `${ADMIN} or (${READER} and (${OWNED} or ${SHARED_WITH_CALLER}))`;

const VISIBLE = `(${OWNED} or ${SHARED_WITH_CALLER} or 'community':%(visibility)s or 'public':%(visibility)s or 'shared':%(visibility)s)`;

/** Glance's default policies. */
const POLICY = createPolicy({
  add_image: OWNER,
  get_images: `${ADMIN} or ${READER}`,
  get_image: `${ADMIN} or (${READER} and ${VISIBLE})`,
  download_image: `${ADMIN} or (role:member and ${VISIBLE})`,
  modify_image: OWNER,
  upload_image: OWNER,
  delete_image: OWNER,
  publicize_image: ADMIN,
  communitize_image: OWNER,
  deactivate: OWNER,
  reactivate: OWNER,
  add_member: OWNER,
  get_member: OWNER_OR_MEMBER,
  get_members: OWNER_OR_MEMBER,
  modify_member: `${ADMIN} or (role:member and ${SHARED_WITH_CALLER})`,
  delete_member: OWNER,
  copy_image: ADMIN,
  delete_image_location: OWNER,
  stores_info_detail: ADMIN,
  get_metadef: `${ADMIN} or (${READER} and (${OWNED} or 'public':%(visibility)s))`,
  modify_metadef: ADMIN,
});

export type RuleName = Parameters<typeof POLICY.allows>[0];

/** The resource to which a rule applies. */
export interface Target {
  readonly owner: string | null;
  readonly visibility: string;
  /** Whether it is shared with the caller's project. */
  readonly isMember?: boolean;
}

export function may({ projectId, roles }: Credentials, name: RuleName, target?: Target): boolean {
  return POLICY.allows(name, {
    credentials: projectId === null ? {} : { project_id: projectId },
    roles: new Set(roles),
    target:
      target === undefined
        ? {}
        : {
            owner: target.owner,
            visibility: target.visibility,
            is_member: target.isMember === true ? "True" : "False",
          },
  });
}

/** @throws {HttpError} 403 */
export function requirePolicy(caller: Credentials, name: RuleName, target?: Target): void {
  if (!may(caller, name, target)) {
    throw forbidden(`You are not authorized to complete ${name} action.`);
  }
}

/**
 * Returns whether the caller may see the image. @param isMember whether the image is shared with the caller's project
 */
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

/** Returns the image that the path names. @param missing default: the message of GET @throws {HttpError} 404 */
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

/**
 * Returns the image that the path names, for a change.
 * @param words `rejection` defaults to the message of Glance's policy
 * @throws {HttpError} 403, 404
 */
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
