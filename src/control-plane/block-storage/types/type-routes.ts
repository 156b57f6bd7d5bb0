import { badRequest, conflict, notFound } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { or, where } from "../../resources/condition.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import type { ViewLevel } from "../engine/block-storage-resource.js";
import { listRecords } from "../engine/lists.js";
import { ACCEPTED } from "../engine/resource-routes.js";
import {
  BOOLEAN_TEXT,
  bodyOf,
  DESCRIPTION,
  isTrue,
  NAME,
  object,
  REQUIRED_NAME,
  SPECS,
  UUID,
} from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { DEFAULT_TYPES } from "../resources/administration.js";
import { TYPES, type VolumeType } from "../resources/types.js";
import { configuredType, defaultType, requireType } from "./find-type.js";

interface NewType {
  readonly name: string;
  readonly description?: string | null;
  readonly extra_specs?: Readonly<Record<string, string>>;
  readonly "os-volume-type-access:is_public"?: boolean | string;
}

interface TypeChanges {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly is_public?: boolean | string;
}

const CREATE: SchemaVersions<{ volume_type: NewType }> = schemas([
  0,
  bodyOf(
    "volume_type",
    object(
      {
        name: REQUIRED_NAME,
        description: DESCRIPTION,
        extra_specs: SPECS,
        "os-volume-type-access:is_public": BOOLEAN_TEXT,
      },
      ["name"],
    ),
  ),
]);

const UPDATE: SchemaVersions<{ volume_type: TypeChanges }> = schemas([
  0,
  bodyOf("volume_type", object({ name: { ...NAME, minLength: 1 }, description: DESCRIPTION, is_public: BOOLEAN_TEXT })),
]);

const TYPE_ACCESS = "volume_extension:volume_type_access";

const PUBLIC = "os-volume-type-access:is_public";

function viewOf(call: BlockStorageCall, type: VolumeType, level: ViewLevel, hasAccess: boolean) {
  return {
    ...renderView(call, TYPES, type, level),
    ...(hasAccess && call.context.allows(TYPE_ACCESS) && { [PUBLIC]: type.is_public }),
  };
}

function listTypes(call: BlockStorageCall): RouteResponse {
  const { context, query } = call;
  context.authorize("volume_extension:type_get_all");
  const { caller } = context;
  const mine = where`EXISTS (SELECT 1 FROM json_each(projects) WHERE value = ${caller.projectId})`;
  const isPublic = where`is_public = 1`;
  const visible = caller.isAdmin ? (query.has("is_public") ? undefined : isPublic) : or(isPublic, mine);
  const listed = listRecords(call, TYPES, {
    level: "show",
    key: "volume_types",
    path: "types",
    ...(visible && { only: visible }),
  });
  const { volume_types: types = [], ...rest } = listed.body as Readonly<Record<string, readonly Body[]>>;
  const isVisible = context.allows(TYPE_ACCESS);
  return {
    body: {
      volume_types: types.map((type) => (isVisible ? { ...type, [PUBLIC]: type.is_public ?? true } : type)),
      ...rest,
    },
  };
}

function showType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const id = call.param("id");
  if (id === "default") {
    const type = defaultType(context, context.caller.projectId);
    if (type === undefined) {
      throw notFound("Default volume type can not be found.");
    }
    return { body: { volume_type: viewOf(call, type, "show", false) } };
  }
  const type = requireType(context, id);
  context.authorize("volume_extension:type_get");
  return { body: { volume_type: viewOf(call, type, "show", true) } };
}

/** @throws {HttpError} 409 */
function assertNameFree(context: BlockStorageContext, name: string, id = ""): void {
  if (context.table(TYPES).has(where`name = ${name} AND id <> ${id}`)) {
    throw conflict(`Volume Type ${name} already exists.`);
  }
}

function createType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { volume_type: requested } = call.body(CREATE);
  context.authorize("volume_extension:type_create");
  const name = requested.name.trim();
  assertNameFree(context, name);
  const type = context.insert(TYPES, {
    id: context.newId(),
    name,
    description: requested.description ?? null,
    is_public: isTrue(requested[PUBLIC] ?? true),
    extra_specs: requested.extra_specs ?? {},
    qos_specs_id: null,
    encryption: null,
    projects: [],
    created_at: context.now,
    updated_at: null,
  });
  return { body: { volume_type: viewOf(call, type, "detail", true) } };
}

function updateType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { volume_type: requested } = call.body(UPDATE);
  context.authorize("volume_extension:type_update");
  const { name, description, is_public: isPublic } = requested;
  if (name === undefined && (description ?? null) === null && isPublic === undefined) {
    throw badRequest("Specify volume type name, description, is_public or a combination thereof.");
  }
  const id = call.param("id");
  requireType(context, id);
  if (typeof name === "string" && name.trim() === "") {
    throw badRequest("Volume type name can not be empty.");
  }
  if (typeof name === "string") {
    assertNameFree(context, name.trim(), id);
  }
  const type = context.change(TYPES, id, {
    ...(typeof name === "string" && { name: name.trim() }),
    ...(description !== undefined && { description }),
    ...(isPublic !== undefined && { is_public: isTrue(isPublic) }),
  });
  return { body: { volume_type: viewOf(call, type ?? requireType(context, id), "detail", false) } };
}

function deleteType(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const id = call.param("id");
  context.authorize("volume_extension:type_delete");
  requireType(context, id);
  if (configuredType(context)?.id === id || context.table(DEFAULT_TYPES).has(where`volume_type_id = ${id}`)) {
    throw badRequest(`The volume type ${id} is a default volume type and cannot be deleted.`);
  }
  if (context.sql.get("SELECT 1 FROM block_storage_volumes WHERE volume_type_id = ? LIMIT 1", id)) {
    throw badRequest("Target volume type is still in use.");
  }
  context.table(TYPES).delete(id);
  return ACCEPTED;
}

function accessBody(name: string): SchemaVersions<Body> {
  return schemas([0, bodyOf(name, object({ project: UUID }, ["project"]))]);
}

/** @throws {HttpError} 400 */
function assertPrivate({ is_public: isPublic }: VolumeType): void {
  if (isPublic) {
    throw badRequest("Invalid volume type: Type access modification is not applicable to public volume type.");
  }
}

const TYPE_ACTIONS: Readonly<Record<string, Action<VolumeType>>> = {
  addProjectAccess: {
    body: accessBody("addProjectAccess"),
    run: ({ context }, type, input) => {
      context.authorize(`${TYPE_ACCESS}:addProjectAccess`);
      assertPrivate(type);
      const project = String(input.project);
      if (type.projects.includes(project)) {
        throw conflict(`Volume type access for ${type.id} / ${project} combination already exists.`);
      }
      context.change(TYPES, type.id, { projects: [...type.projects, project] });
      return undefined;
    },
  },
  removeProjectAccess: {
    body: accessBody("removeProjectAccess"),
    run: ({ context }, type, input) => {
      context.authorize(`${TYPE_ACCESS}:removeProjectAccess`);
      assertPrivate(type);
      const project = String(input.project);
      if (!type.projects.includes(project)) {
        throw notFound(`Volume type access not found for ${type.id} / ${project} combination.`);
      }
      context.change(TYPES, type.id, { projects: type.projects.filter((one) => one !== project) });
      return undefined;
    },
  },
};

export const TYPE_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>({
    "GET /types": listTypes,
    "GET /types/:id": showType,
    "POST /types": { body: CREATE, handle: createType },
    "PUT /types/:id": { body: UPDATE, handle: updateType },
    "DELETE /types/:id": deleteType,
    "GET /types/:id/os-volume-type-access": (call) => {
      const { context } = call;
      context.authorize(`${TYPE_ACCESS}:get_all_for_type`);
      const { id, is_public: isPublic, projects } = requireType(context, call.param("id"));
      if (isPublic) {
        throw notFound("Access list not available for public volume types.");
      }
      return { body: { volume_type_access: projects.map((project) => ({ volume_type_id: id, project_id: project })) } };
    },
  }),
  actionRoute("/types/:id/action", 0, (call) => requireType(call.context, call.param("id")), TYPE_ACTIONS),
];
