import type { RouteResponse } from "../../http/responses.js";
import { type SchemaVersions, schemas } from "../../http/schemas.js";
import { where } from "../../resources/condition.js";
import type { BlockStorageCall, Body } from "../engine/block-storage-call.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { invalidGroup } from "../engine/block-storage-errors.js";
import { respond } from "../engine/resource-routes.js";
import { bodyOf, DESCRIPTION, NAME, object, UUID } from "../engine/schema-parts.js";
import { assertWithinQuotas } from "../quotas/quotas.js";
import { GROUP_SNAPSHOTS, GROUPS, type Group } from "../resources/groups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { VOLUMES } from "../resources/volumes.js";
import { insertVolume } from "../volumes/create-volume.js";
import type { VolumeSource } from "../volumes/volume-sources.js";
import { insertGroup } from "./insert-group.js";

export const FROM_SOURCE: SchemaVersions<Body> = schemas([
  14,
  bodyOf(
    "create-from-src",
    object({ description: DESCRIPTION, name: NAME, source_group_id: UUID, group_snapshot_id: UUID }, undefined, {
      oneOf: [{ required: ["group_snapshot_id"] }, { required: ["source_group_id"] }],
    }),
  ),
]);

interface GroupSource {
  /** The group whose types and zone the new one has. */
  readonly group: Group;
  readonly members: readonly VolumeSource[];
}

function findSource(context: BlockStorageContext, input: Body): GroupSource {
  if (typeof input.group_snapshot_id === "string") {
    const { id, group_id: groupId } = context.require(GROUP_SNAPSHOTS, input.group_snapshot_id);
    const snapshots = context.table(SNAPSHOTS).find(where`group_snapshot_id = ${id}`);
    if (snapshots.length === 0) {
      throw invalidGroup("GroupSnapshot is empty. No group will be created.");
    }
    return { group: context.require(GROUPS, groupId), members: snapshots.map((snapshot) => ({ snapshot })) };
  }
  const group = context.require(GROUPS, String(input.source_group_id));
  const volumes = context.table(VOLUMES).find(where`group_id = ${group.id}`);
  if (volumes.length === 0) {
    throw invalidGroup("Source Group is empty. No group will be created.");
  }
  return { group, members: volumes.map((volume) => ({ volume })) };
}

/** Creates a group with a copy of each volume of another group, or of a group snapshot. */
export function createFromSource(call: BlockStorageCall, _none: undefined, input: Body): RouteResponse {
  const { context } = call;
  context.authorize("group:create");
  const { group: source, members } = findSource(context, input);
  assertWithinQuotas(context, { projectId: context.caller.projectId, amounts: { groups: 1 } });
  const { availability_zone, group_type_id, volume_type_ids } = source;
  const group = insertGroup(context, {
    availability_zone,
    group_type_id,
    volume_type_ids,
    name: typeof input.name === "string" ? input.name : null,
    description: typeof input.description === "string" ? input.description : null,
    group_snapshot_id: typeof input.group_snapshot_id === "string" ? input.group_snapshot_id : null,
    source_group_id: typeof input.source_group_id === "string" ? input.source_group_id : null,
  });
  for (const member of members) {
    insertVolume(context, { size: (member.snapshot ?? member.volume)?.size ?? 0, source: member, group });
  }
  context.enqueue("group.create", group.id);
  return respond(call, GROUPS, group, "summary", 202);
}
