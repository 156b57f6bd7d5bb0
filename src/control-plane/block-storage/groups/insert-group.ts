import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { GROUPS, type Group } from "../resources/groups.js";

type NewGroup = Pick<Group, "name" | "description" | "availability_zone" | "group_type_id" | "volume_type_ids"> &
  Partial<Pick<Group, "group_snapshot_id" | "source_group_id">>;

/** Creates the record of a group that is being created. */
export function insertGroup(context: BlockStorageContext, group: NewGroup): Group {
  return context.insert(GROUPS, {
    id: context.newId(),
    project_id: context.caller.projectId,
    user_id: context.caller.userId,
    created_at: context.now,
    updated_at: null,
    status: "creating",
    host: null,
    group_snapshot_id: null,
    source_group_id: null,
    ...group,
  });
}
