import { isConductorError } from "../../conductor-client/errors.js";
import { isObject } from "../../runtime/collections.js";
import type { ServiceResponse } from "../../runtime/http-server.js";
import { badRequest, conflict, forbidden, notFound, tooLarge } from "../http/http-error.js";
import { json } from "../http/responses.js";
import { routes } from "../http/router.js";
import { isoSeconds } from "../http/times.js";
import { type ImageCall, type ImageRoute, NO_CONTENT } from "./api/call.js";
import { type FoundImage, findImage, may, type RuleName } from "./api/policy.js";
import { MEMBER_STATUSES, type Member } from "./image-tables.js";

/** Glance's `image_member_quota`. */
const MAX_MEMBERS = 128;

/** Max characters of a project's id. */
const LONGEST_ID = 255;

/** Routes of the projects with which an image of visibility `shared` is shared. */
export const MEMBER_ROUTES = routes<ImageRoute>({
  "GET /v2/images/:id/members": list,
  "POST /v2/images/:id/members": add,
  "GET /v2/images/:id/members/:member": show,
  "PUT /v2/images/:id/members/:member": update,
  "DELETE /v2/images/:id/members/:member": remove,
});

function list(call: ImageCall): ServiceResponse {
  const found = find(call);
  const { id } = found.image;
  const listForbidden = (why: string) => forbidden(`Not allowed to list members for image ${id}: ${why}`);
  if (found.image.visibility !== "shared") {
    throw listForbidden("Only shared images have members.");
  }
  if (!may(call.caller, "get_members", found.target)) {
    throw listForbidden("You are not authorized to complete get_members action.");
  }
  const { projectId } = call.caller;
  const mine = call.isAdmin || found.image.owner === projectId;
  const members = call.store.members.list(id).filter(({ memberId }) => mine || memberId === projectId);
  return json(200, { members: members.map((member) => view(id, member)), schema: "/v2/schemas/members" });
}

function add(call: ImageCall): ServiceResponse {
  const memberId = readMember(call.json());
  const { store } = call;
  const { id } = checked(call, "add_member", "create").image;
  const attempted = store.members.count(id) + 1;
  if (attempted > MAX_MEMBERS) {
    const limit = "The limit has been exceeded on the number of allowed image members for this image.";
    const counts = `Attempted: ${attempted}, Maximum: ${MAX_MEMBERS}`;
    throw tooLarge(`Image member limit exceeded for image ${id}: ${limit} ${counts}:`);
  }
  try {
    return json(200, view(id, store.members.add(id, memberId)));
  } catch (error) {
    throw isConductorError(error, "DuplicateRecord")
      ? conflict(`Member ${memberId} is duplicated for image ${id}`)
      : error;
  }
}

function show(call: ImageCall): ServiceResponse {
  const found = find(call);
  if (found.image.visibility !== "shared") {
    throw notFound("Only shared images have members.");
  }
  if (!may(call.caller, "get_member", found.target)) {
    throw notFound(`You are not authorized to lookup the members of the image ${found.image.id}.`);
  }
  return json(200, view(found.image.id, findMember(call, found)));
}

/** Sets a member's status. Only the member accepts or rejects an image, not its owner. */
function update(call: ImageCall): ServiceResponse {
  const status = readStatus(call.json());
  const found = checked(call, "modify_member", "update");
  const { memberId } = findMember(call, found);
  if (!call.isAdmin && memberId !== call.caller.projectId) {
    throw changeForbidden(found.image.id, "update");
  }
  const known = MEMBER_STATUSES.find((each) => each === status);
  if (!known) {
    throw badRequest('Incorrect request: Status must be "pending", "accepted" or "rejected".');
  }
  call.store.members.setStatus(found.image.id, memberId, known);
  return json(200, view(found.image.id, findMember(call, found)));
}

function remove(call: ImageCall): ServiceResponse {
  const found = checked(call, "delete_member", "delete");
  call.store.members.remove(found.image.id, findMember(call, found).memberId);
  return NO_CONTENT;
}

function find(call: ImageCall): FoundImage {
  return findImage(call, (id) => `Image ${id} not found.`);
}

function checked(call: ImageCall, rule: RuleName, verb: string): FoundImage {
  const found = find(call);
  if (found.image.visibility !== "shared" || !may(call.caller, rule, found.target)) {
    throw changeForbidden(found.image.id, verb);
  }
  return found;
}

const changeForbidden = (id: string, verb: string) => forbidden(`Not allowed to ${verb} members for image ${id}.`);

function findMember(call: ImageCall, { image }: FoundImage): Member {
  const id = call.param("member");
  const member = call.store.members.get(image.id, id);
  if (!member) {
    throw notFound(`${id} not found in the member list of the image ${image.id}.`);
  }
  return member;
}

function readMember(body: unknown): string {
  if (!isObject(body)) {
    throw badRequest('Expected a member in the form: {"member": "image_id"}');
  }
  const { member } = body;
  if (member === undefined) {
    throw badRequest("Member to be added not specified");
  }
  if (member === "" || member === null) {
    throw badRequest("Member can't be empty");
  }
  if (typeof member !== "string" || member.length > LONGEST_ID) {
    throw badRequest(`A member is the id of a project: a text of at most ${LONGEST_ID} characters.`);
  }
  return member;
}

function readStatus(body: unknown): unknown {
  if (!isObject(body)) {
    throw badRequest('Expected a status in the form: {"status": "status"}');
  }
  if (body.status === undefined) {
    throw badRequest("Status not specified");
  }
  return body.status;
}

function view(imageId: string, { memberId, status, createdAt, updatedAt }: Member): Readonly<Record<string, unknown>> {
  return {
    member_id: memberId,
    image_id: imageId,
    status,
    created_at: isoSeconds(createdAt),
    updated_at: isoSeconds(updatedAt),
    schema: "/v2/schemas/member",
  };
}
