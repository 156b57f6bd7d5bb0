import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import { defaultZone } from "../block-storage-options.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidGroup, invalidVolume, recordNotFound } from "../engine/block-storage-errors.js";
import { isUuidLike } from "../engine/formats.js";
import { ACCEPTED, readRoutes, respond } from "../engine/resource-routes.js";
import { BOOLEAN_TEXT, bodyOf, DESCRIPTION, isTrue, NAME, object } from "../engine/schema-parts.js";
import { assertWithinQuotas } from "../quotas/quotas.js";
import { GROUP_SNAPSHOTS, GROUP_TYPES, GROUPS, type Group, type GroupType } from "../resources/groups.js";
import { VOLUMES } from "../resources/volumes.js";
import { requireTypeNamed } from "../types/find-type.js";
import { createFromSource, FROM_SOURCE } from "./group-sources.js";
import { mayUseGroupType } from "./group-type-routes.js";
import { insertGroup } from "./insert-group.js";

interface NewGroup {
  readonly group_type: string;
  readonly volume_types: readonly string[];
  readonly name?: string | null;
  readonly description?: string | null;
  readonly availability_zone?: string | null;
}

const CREATE: SchemaVersions<{ readonly group: NewGroup }> = schemas([
  13,
  bodyOf(
    "group",
    object(
      {
        description: DESCRIPTION,
        group_type: { type: "string", format: "group_type" },
        name: NAME,
        volume_types: {
          type: "array",
          minItems: 1,
          items: { type: "string", maxLength: 255 },
          uniqueItems: true,
        },
        availability_zone: { type: ["string", "null"], format: "availability_zone" },
      },
      ["group_type", "volume_types"],
    ),
  ),
]);

const CHANGES = { description: DESCRIPTION, name: NAME, add_volumes: DESCRIPTION, remove_volumes: DESCRIPTION };

const UPDATE: SchemaVersions<{ readonly group: Body }> = schemas([
  13,
  bodyOf(
    "group",
    object(CHANGES, undefined, {
      anyOf: ["name", "description", "add_volumes", "remove_volumes"].map((name) => ({ required: [name] })),
    }),
  ),
]);

/** @throws {HttpError} 404 */
function requireGroupType(context: BlockStorageContext, nameOrId: string): GroupType {
  const type = isUuidLike(nameOrId)
    ? context.table(GROUP_TYPES).get(nameOrId)
    : context.table(GROUP_TYPES).first(where`name = ${nameOrId}`);
  if (type === undefined || !mayUseGroupType(context, type)) {
    throw recordNotFound(GROUP_TYPES, nameOrId);
  }
  return type;
}

/** The type of former consistency groups. */
const FORMER_GROUPS_TYPE = "default_cgsnapshot_type";

function createGroup(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { group: requested } = call.body(CREATE);
  const reserved = context.table(GROUP_TYPES).first(where`name = ${FORMER_GROUPS_TYPE}`);
  if (reserved && [reserved.id, reserved.name].includes(requested.group_type)) {
    throw badRequest(
      `Group_type ${reserved.id} is reserved for migrating CGs to groups. Migrated group can only be operated by CG APIs.`,
    );
  }
  context.authorize("group:create");
  const volumeTypes = requested.volume_types.map((nameOrId) => requireTypeNamed(context, nameOrId).id);
  const type = requireGroupType(context, requested.group_type);
  assertWithinQuotas(context, { projectId: context.caller.projectId, amounts: { groups: 1 } });
  const group = insertGroup(context, {
    name: requested.name ?? null,
    description: requested.description ?? null,
    availability_zone: requested.availability_zone ?? defaultZone(context.services.options),
    group_type_id: type.id,
    volume_type_ids: volumeTypes,
  });
  context.enqueue("group.create", group.id);
  return respond(call, GROUPS, group, "summary", 202);
}

function idsIn(text: unknown): readonly string[] {
  return typeof text === "string"
    ? text
        .split(",")
        .map((id) => id.trim())
        .filter((id) => id !== "")
    : [];
}

/** @throws {HttpError} 400, 404 */
function assertMayAdd(context: BlockStorageContext, group: Group, volumeId: string): void {
  const volume = context.table(VOLUMES).get(volumeId);
  const cannot = `Cannot add volume ${volumeId} to group ${group.id} because`;
  if (volume === undefined || !context.sees(volume)) {
    throw invalidVolume(`${cannot} volume cannot be found.`);
  }
  if (volume.project_id !== group.project_id) {
    throw invalidVolume(`Cannot add volume ${volumeId} to group ${group.id} as they belong to different projects.`);
  }
  if (volume.group_id !== null) {
    throw invalidVolume(`${cannot} it is already in group ${volume.group_id}`);
  }
  if (!group.volume_type_ids.includes(volume.volume_type_id ?? "")) {
    throw invalidVolume(`${cannot} volume type ${volume.volume_type_id} is not supported by the group.`);
  }
  if (!["available", "in-use"].includes(volume.status)) {
    throw invalidVolume(
      `${cannot} volume is in an invalid state: ${volume.status}. Valid states are: ('available', 'in-use').`,
    );
  }
}

function updateGroup(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { group: requested } = call.body(UPDATE);
  const group = context.require(GROUPS, call.param("id"));
  context.authorize("group:update", group);
  const [add, remove] = [idsIn(requested.add_volumes), idsIn(requested.remove_volumes)];
  const both = add.find((id) => remove.includes(id));
  if (both !== undefined) {
    throw invalidVolume(`UUID ${both} is in both add and remove volume list.`);
  }
  for (const id of add) {
    assertMayAdd(context, group, id);
  }
  for (const id of remove) {
    if (context.table(VOLUMES).get(id)?.group_id !== group.id) {
      throw invalidVolume(`Cannot remove volume ${id} from group ${group.id} because it is not in the group.`);
    }
  }
  const isMoved = add.length + remove.length > 0;
  const { name, description } = requested;
  const changes = {
    ...(typeof name === "string" && { name }),
    ...(typeof description === "string" && { description }),
    ...(isMoved && { status: "updating" }),
  };
  if (!context.change(GROUPS, group.id, changes, where`status = 'available'`)) {
    throw invalidGroup(`Group status must be available, but current status is: ${group.status}.`);
  }
  if (isMoved) {
    context.enqueue("group.update", group.id, { add, remove });
  }
  return ACCEPTED;
}

function deleteGroup(context: BlockStorageContext, group: Group, input: Body): void {
  const { id, status } = group;
  const withVolumes = isTrue(input["delete-volumes"]);
  const volumes = context.table(VOLUMES).find(where`group_id = ${id}`);
  context.authorize("group:delete", group);
  if (!withVolumes && volumes.length > 0) {
    throw invalidGroup(`Group ${id} still contains volumes. The delete-volumes flag is required to delete it.`);
  }
  if (!["available", "error"].includes(status)) {
    throw invalidGroup(`Group status must be available or error, but current status is: ${status}`);
  }
  if (context.table(GROUP_SNAPSHOTS).has(where`group_id = ${id}`)) {
    throw invalidGroup("Group has existing snapshots.");
  }
  const attached = volumes.find(({ attach_status: state }) => state === "attached");
  if (attached) {
    throw invalidVolume(`Volume in group ${id} is attached. Need to detach first.`);
  }
  context.change(GROUPS, id, { status: "deleting" });
  context.table(VOLUMES).updateIf(where`group_id = ${id}`, { status: "deleting" });
  context.enqueue("group.delete", id);
}

const REPLICATION = ["disable_replication", "enable_replication", "list_replication_targets"];

/** Actions on the replication of groups, which no emulated back end has. */
function replicationAction(name: string): Action<Group> {
  const properties = {
    allow_attached_volume: { type: ["boolean", "string"] },
    secondary_backend_id: NAME,
  };
  const schema = name === "failover_replication" ? object(properties) : { type: "object" };
  return {
    from: 38,
    body: schemas([38, bodyOf(name, schema)]),
    run: ({ context }, group) => {
      context.authorize(`group:${name}`, group);
      throw badRequest(`Invalid GroupType: Group type ${group.group_type_id} does not support replication.`);
    },
  };
}

const ACTIONS: Readonly<Record<string, Action<Group>>> = {
  delete: {
    body: schemas([13, bodyOf("delete", object({ "delete-volumes": BOOLEAN_TEXT }))]),
    run: ({ context }, group, input) => {
      deleteGroup(context, group, input);
      return undefined;
    },
  },
  reset_status: {
    from: 20,
    body: schemas([
      20,
      bodyOf("reset_status", object({ status: { type: "string", format: "group_status" } }, ["status"])),
    ]),
    run: ({ context }, group, input) => {
      context.authorize("group:reset_status", group);
      context.change(GROUPS, group.id, { status: String(input.status) });
      return undefined;
    },
  },
  ...Object.fromEntries([...REPLICATION, "failover_replication"].map((name) => [name, replicationAction(name)])),
};

export const GROUP_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>(
    {
      "POST /": { body: CREATE, handle: createGroup },
      "PUT /:id": { body: UPDATE, handle: updateGroup },
    },
    { prefix: "/groups", from: 13 },
  ),
  actionRoute<undefined>("/groups/action", 13, () => undefined, {
    "create-from-src": { from: 14, body: FROM_SOURCE, run: createFromSource },
  }),
  ...readRoutes(GROUPS, { list: "group:get_all", show: "group:get" }),
  actionRoute("/groups/:id/action", 13, ({ context, params }) => context.require(GROUPS, params.id ?? ""), ACTIONS),
];
