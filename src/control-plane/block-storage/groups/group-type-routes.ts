import { badRequest, conflict, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { EVERY, where } from "../../resources/condition.js";
import type { BlockStorageCall, BlockStorageRoute } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { recordNotFound } from "../engine/block-storage-errors.js";
import { listRecords } from "../engine/lists.js";
import { ACCEPTED, respond } from "../engine/resource-routes.js";
import {
  BOOLEAN_TEXT,
  bodyOf,
  DESCRIPTION,
  isTrue,
  METADATA_OR_NULL,
  NAME,
  object,
  REQUIRED_NAME,
} from "../engine/schema-parts.js";
import { GROUP_TYPES, GROUPS, type GroupType } from "../resources/groups.js";

interface NewGroupType {
  readonly name: string;
  readonly description?: string | null;
  readonly is_public?: boolean | string;
  readonly group_specs?: Readonly<Record<string, string>> | null;
}

const CREATE: SchemaVersions<{ readonly group_type: NewGroupType }> = schemas([
  11,
  bodyOf(
    "group_type",
    object({ name: REQUIRED_NAME, description: DESCRIPTION, is_public: BOOLEAN_TEXT, group_specs: METADATA_OR_NULL }, [
      "name",
    ]),
  ),
]);

const UPDATE: SchemaVersions<{ readonly group_type: Partial<NewGroupType> }> = schemas([
  11,
  bodyOf("group_type", object({ name: NAME, description: DESCRIPTION, is_public: BOOLEAN_TEXT })),
]);

/** Whether the caller may use a type: those that are not public are administrators' alone. */
export function mayUseGroupType({ caller }: BlockStorageContext, { is_public: isPublic }: GroupType): boolean {
  return isPublic || caller.isAdmin;
}

/** @throws {HttpError} 409 */
function assertNameFree(context: BlockStorageContext, name: string, id = ""): void {
  if (context.table(GROUP_TYPES).has(where`name = ${name} AND id <> ${id}`)) {
    throw conflict(`Group Type ${name} already exists.`);
  }
}

function createType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { group_type: requested } = call.body(CREATE);
  context.authorize("group:group_types:create");
  const name = requested.name.trim();
  assertNameFree(context, name);
  const type = context.insert(GROUP_TYPES, {
    id: context.newId(),
    name,
    description: requested.description ?? null,
    is_public: isTrue(requested.is_public ?? true),
    group_specs: requested.group_specs ?? {},
    created_at: context.now,
    updated_at: null,
  });
  return respond(call, GROUP_TYPES, type, "show", 202);
}

function updateType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { group_type: requested } = call.body(UPDATE);
  context.authorize("group:group_types:update");
  const { name, description, is_public: isPublic } = requested;
  if ((name ?? null) === null && (description ?? null) === null && isPublic === undefined) {
    throw badRequest("Specify group type name, description or a combination thereof.");
  }
  const type = context.require(GROUP_TYPES, call.param("id"));
  if (typeof name === "string") {
    assertNameFree(context, name.trim(), type.id);
  }
  const changed = context.change(GROUP_TYPES, type.id, {
    ...(typeof name === "string" && { name: name.trim() }),
    ...(description !== undefined && { description }),
    ...(isPublic !== undefined && { is_public: isTrue(isPublic) }),
  });
  return respond(call, GROUP_TYPES, changed ?? type, "show");
}

/** Types of groups. */
export const GROUP_TYPE_ROUTES: readonly BlockStorageRoute[] = routes<BlockStorageRoute>(
  {
    "GET /": (call) => {
      const isOfAll = call.context.caller.isAdmin && call.query.has("is_public");
      const only = isOfAll ? EVERY : where`is_public = 1`;
      return listRecords(call, GROUP_TYPES, { level: "show", path: "group_types", only });
    },
    "POST /": { body: CREATE, handle: createType },
    "GET /:id": (call) => {
      const id = call.param("id");
      if (id === "default") {
        throw notFound("Default group type can not be found.");
      }
      const type = call.context.require(GROUP_TYPES, id);
      if (!mayUseGroupType(call.context, type)) {
        throw recordNotFound(GROUP_TYPES, id);
      }
      return respond(call, GROUP_TYPES, type, "show");
    },
    "PUT /:id": { body: UPDATE, handle: updateType },
    "DELETE /:id": ({ context, params }) => {
      context.authorize("group:group_types:delete");
      const { id } = context.require(GROUP_TYPES, params.id ?? "");
      if (context.table(GROUPS).has(where`group_type_id = ${id}`)) {
        throw badRequest(
          `Target group type is still in use. Group Type ${id} deletion is not allowed with groups present with the type.`,
        );
      }
      context.table(GROUP_TYPES).delete(id);
      return ACCEPTED;
    },
  },
  { prefix: "/group_types", from: 11 },
);
