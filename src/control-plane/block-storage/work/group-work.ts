import { where } from "../../resources/condition.js";
import type { BlockStorageContext } from "../engine/block-storage-context.js";
import { GROUP_SNAPSHOTS, GROUPS } from "../resources/groups.js";
import { SNAPSHOTS } from "../resources/snapshots.js";
import { TYPES } from "../resources/types.js";
import { VOLUMES } from "../resources/volumes.js";
import { isVolumeServiceDown, listPools, meetsSpecs } from "../services/pools.js";
import type { WorkInput, WorkKind } from "./work-kinds.js";

function createGroup(context: BlockStorageContext, id: string): void {
  const types = (context.table(GROUPS).get(id)?.volume_type_ids ?? []).map((typeId) =>
    context.table(TYPES).get(typeId),
  );
  const { maxOverSubscriptionRatio: ratio } = context.services.options;
  const isDown = isVolumeServiceDown(context);
  const pool = listPools(context).find(
    (one) => !one.service.disabled && !isDown && types.every((type) => meetsSpecs(one, type, ratio)),
  );
  const status = pool ? "available" : "error";
  context.change(GROUPS, id, { status, host: pool?.name ?? null }, where`status = 'creating'`);
}

function updateGroup(context: BlockStorageContext, id: string, { add, remove }: WorkInput): void {
  for (const volumeId of Array.isArray(add) ? add : []) {
    context.change(VOLUMES, String(volumeId), { group_id: id });
  }
  for (const volumeId of Array.isArray(remove) ? remove : []) {
    context.change(VOLUMES, String(volumeId), { group_id: null });
  }
  context.change(GROUPS, id, { status: "available" }, where`status = 'updating'`);
}

function deleteGroup(context: BlockStorageContext, id: string): void {
  if (context.table(GROUPS).get(id)?.status === "deleting") {
    context.sql.execute("DELETE FROM block_storage_volumes WHERE group_id = ?", id);
    context.table(GROUPS).delete(id);
  }
}

/** Work on groups and their snapshots. The names are those of fault points. */
export const GROUP_WORK: Readonly<Record<string, WorkKind>> = {
  "group.create": {
    run: createGroup,
    fail: (context, id) => void context.change(GROUPS, id, { status: "error" }, where`status = 'creating'`),
  },
  "group.update": {
    run: updateGroup,
    fail: (context, id) => void context.change(GROUPS, id, { status: "error" }, where`status = 'updating'`),
  },
  "group.delete": {
    run: deleteGroup,
    fail: (context, id) => void context.change(GROUPS, id, { status: "error_deleting" }, where`status = 'deleting'`),
  },
  "group_snapshot.create": {
    run: (context, id) => {
      context.change(GROUP_SNAPSHOTS, id, { status: "available" }, where`status = 'creating'`);
      const done = { status: "available", progress: "100%" };
      context.table(SNAPSHOTS).updateIf(where`group_snapshot_id = ${id} AND status = 'creating'`, done);
    },
    fail: (context, id) => {
      context.change(GROUP_SNAPSHOTS, id, { status: "error" }, where`status = 'creating'`);
      context.table(SNAPSHOTS).updateIf(where`group_snapshot_id = ${id}`, { status: "error" });
    },
  },
  "group_snapshot.delete": {
    run: (context, id) => {
      if (context.table(GROUP_SNAPSHOTS).get(id)?.status === "deleting") {
        context.sql.execute("DELETE FROM block_storage_snapshots WHERE group_snapshot_id = ?", id);
        context.table(GROUP_SNAPSHOTS).delete(id);
      }
    },
    fail: (context, id) =>
      void context.change(GROUP_SNAPSHOTS, id, { status: "error_deleting" }, where`status = 'deleting'`),
  },
};
