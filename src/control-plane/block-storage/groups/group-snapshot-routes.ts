import { badRequest } from "../../http/http-error.js";
import type { RouteResponse } from "../../http/responses.js";
import { routes } from "../../http/router.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { isOneOf, where } from "../../resources/condition.js";
import { type Action, actionRoute } from "../engine/actions.js";
import type { BlockStorageCall, BlockStorageRoute } from "../engine/block-storage-call.js";
import { invalidGroup } from "../engine/block-storage-errors.js";
import { ACCEPTED, readRoutes } from "../engine/resource-routes.js";
import { bodyOf, DESCRIPTION, NAME, object, UUID } from "../engine/schema-parts.js";
import { renderView } from "../engine/views.js";
import { GROUP_SNAPSHOTS, GROUPS, type GroupSnapshot } from "../resources/groups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES } from "../resources/volumes.js";
import { insertSnapshot } from "../snapshots/snapshots.js";

interface NewGroupSnapshot {
  readonly group_id: string;
  readonly name?: string | null;
  readonly description?: string | null;
}

const CREATE: SchemaVersions<{ readonly group_snapshot: NewGroupSnapshot }> = schemas([
  14,
  bodyOf("group_snapshot", object({ group_id: UUID, name: NAME, description: DESCRIPTION }, ["group_id"])),
]);

/** Creates a snapshot of each volume of a group. */
function createGroupSnapshot(call: BlockStorageCall): RouteResponse {
  const { context } = call;
  const { group_snapshot: requested } = call.body(CREATE);
  const group = context.require(GROUPS, requested.group_id);
  context.authorize("group:create_group_snapshot", group);
  const volumes = context.table(VOLUMES).find(where`group_id = ${group.id}`);
  if (volumes.length === 0 || ["creating", "updating"].includes(group.status)) {
    throw invalidGroup(
      "Source group cannot be empty or in 'creating' or 'updating' state. No group snapshot will be created.",
    );
  }
  const snapshot = context.insert(GROUP_SNAPSHOTS, {
    id: context.newId(),
    project_id: context.caller.projectId,
    user_id: context.caller.userId,
    created_at: context.now,
    updated_at: null,
    group_id: group.id,
    group_type_id: group.group_type_id,
    name: requested.name ?? null,
    description: requested.description ?? null,
    status: "creating",
  });
  for (const volume of volumes) {
    insertSnapshot(context, volume, {
      name: snapshot.name,
      description: snapshot.description,
      groupSnapshotId: snapshot.id,
      statuses: ["available", "in-use"],
    });
  }
  context.enqueue("group_snapshot.create", snapshot.id);
  const { group_type_id } = snapshot;
  return {
    status: 202,
    body: { group_snapshot: { ...renderView(call, GROUP_SNAPSHOTS, snapshot, "summary"), group_type_id } },
  };
}

function deleteGroupSnapshot({ context, params }: BlockStorageCall): RouteResponse {
  const snapshot = context.require(GROUP_SNAPSHOTS, params.id ?? "");
  context.authorize("group:delete_group_snapshot", snapshot);
  const { id } = snapshot;
  const allowed = isOneOf("status", ["available", "error"]);
  if (context.table(GROUPS).has(where`group_snapshot_id = ${id} AND status = 'creating'`)) {
    throw badRequest(`Invalid GroupSnapshot: GroupSnapshot ${id} is used by a group that is being created.`);
  }
  if (!context.change(GROUP_SNAPSHOTS, id, { status: "deleting" }, allowed)) {
    throw badRequest(
      "Invalid GroupSnapshot: GroupSnapshot status must be available or error, and no Group can be currently using it as source for its creation.",
    );
  }
  context.table(SNAPSHOTS).updateIf(where`group_snapshot_id = ${id}`, { status: "deleting" });
  context.enqueue("group_snapshot.delete", id);
  return ACCEPTED;
}

const ACTIONS: Readonly<Record<string, Action<GroupSnapshot>>> = {
  reset_status: {
    from: 19,
    body: schemas([
      19,
      bodyOf("reset_status", object({ status: { type: "string", format: "group_snapshot_status" } }, ["status"])),
    ]),
    run: ({ context }, snapshot, input) => {
      context.authorize("group:reset_group_snapshot_status", snapshot);
      context.change(GROUP_SNAPSHOTS, snapshot.id, { status: String(input.status) });
      return undefined;
    },
  },
};

export const GROUP_SNAPSHOT_ROUTES: readonly BlockStorageRoute[] = [
  ...routes<BlockStorageRoute>(
    {
      "POST /": { body: CREATE, handle: createGroupSnapshot },
      "DELETE /:id": deleteGroupSnapshot,
    },
    { prefix: "/group_snapshots", from: 14 },
  ),
  ...readRoutes(GROUP_SNAPSHOTS, { list: "group:get_all_group_snapshots", show: "group:get_group_snapshot" }),
  actionRoute(
    "/group_snapshots/:id/action",
    14,
    ({ context, params }) => context.require(GROUP_SNAPSHOTS, params.id ?? ""),
    ACTIONS,
  ),
];
