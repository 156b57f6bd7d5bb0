import type { Credentials } from "../../credentials.js";
import { forbidden, notFound } from "../../http/http-error.js";
import type { Image } from "../image.js";
import type { ImageCall } from "./call.js";

/** The relation of the caller's project to an image: owner, member, or by the image's visibility. */
type Relation = "owner" | "member" | "public" | "community" | "shared";

/** Allows administrators, and users with the role in a project with one of the relations. */
interface Rule {
  readonly role?: "reader" | "member";
  readonly where?: readonly Relation[];
}

const ADMIN: Rule = {};

const OWNER: Rule = { role: "member", where: ["owner"] };

const OWNER_OR_MEMBER: Rule = { role: "reader", where: ["owner", "member"] };

/** Glance's default policies. */
const RULES = {
  add_image: OWNER,
  get_images: { role: "reader" },
  get_image: { role: "reader", where: ["owner", "member", "community", "public", "shared"] },
  download_image: { role: "member", where: ["owner", "member", "community", "public", "shared"] },
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
  modify_member: { role: "member", where: ["member"] },
  delete_member: OWNER,
  copy_image: ADMIN,
  delete_image_location: OWNER,
  stores_info_detail: ADMIN,
  get_metadef: { role: "reader", where: ["owner", "public"] },
  modify_metadef: ADMIN,
} as const satisfies Readonly<Record<string, Rule>>;

export type RuleName = keyof typeof RULES;

/** The resource to which a rule applies. */
export interface Target {
  readonly owner: string | null;
  readonly visibility: string;
  /** Whether it is shared with the caller's project. */
  readonly isMember?: boolean;
}

export function may(caller: Credentials, name: RuleName, target?: Target): boolean {
  const { role, where }: Rule = RULES[name];
  if (caller.roles.includes("admin")) {
    return true;
  }
  if (role === undefined || !has(caller, role)) {
    return false;
  }
  return where === undefined || (target !== undefined && where.some((relation) => holds(caller, relation, target)));
}

/** @throws {HttpError} 403 */
export function requirePolicy(caller: Credentials, name: RuleName, target?: Target): void {
  if (!may(caller, name, target)) {
    throw forbidden(`You are not authorized to complete ${name} action.`);
  }
}

/** Returns whether the caller has the role; `member` implies `reader`. */
function has({ roles }: Credentials, role: "reader" | "member"): boolean {
  return roles.includes(role) || (role === "reader" && roles.includes("member"));
}

function holds({ projectId }: Credentials, relation: Relation, target: Target): boolean {
  switch (relation) {
    case "owner":
      return projectId !== null && target.owner === projectId;
    case "member":
      return target.isMember === true;
    default:
      return target.visibility === relation;
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
