import type { ImageCall } from "../api/call.js";
import { badRequest } from "../api/fault.js";
import type { Image } from "../images.js";
import { sees } from "./find-image.js";

const VISIBILITIES = ["community", "public", "private", "shared", "all"];
const MEMBER_STATUSES = ["pending", "accepted", "rejected", "all"];

/**
 * What a list may have: images that the caller sees, of those that are shared with its project the ones that it says so of
 * (`member_status`), and of other projects' community images none that it does not ask for. @throws {ImageFault} 400
 */
export function listedImages({ store, caller, query, isAdmin }: ImageCall): Image[] {
  const visibility = query.get("visibility");
  if (visibility !== undefined && visibility !== "" && !VISIBILITIES.includes(visibility)) {
    throw badRequest(`Invalid visibility value: ${visibility}`);
  }
  const memberStatus = query.get("member_status") ?? "accepted";
  if (!MEMBER_STATUSES.includes(memberStatus)) {
    throw badRequest(`Invalid status: ${memberStatus}`);
  }
  const { projectId } = caller;
  const shared = isAdmin || projectId === null ? new Map<string, string>() : store.members.of(projectId);
  return store.table.list().filter((image) => {
    const memberAcceptance = shared.get(image.id);
    const isMember = memberAcceptance !== undefined && (memberStatus === "all" || memberAcceptance === memberStatus);
    return sees(caller, image, isMember) && matchesVisibility(image, visibility, projectId);
  });
}

function matchesVisibility(image: Image, visibility: string | undefined, projectId: string | null): boolean {
  if (visibility === undefined || visibility === "") {
    return image.visibility !== "community" || (projectId !== null && image.owner === projectId);
  }
  return visibility === "all" || image.visibility === visibility;
}
